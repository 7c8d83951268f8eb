"""Programs by a grammar, and what must hold of each: run in a process of its own, under limits (see test_fuzz.py).

`python tests/flow/fuzz_programs.py COUNT [SEED]` runs COUNT programs of each kind: always the same ones without a seed.
"""

from __future__ import annotations

import ast
import contextlib
import signal
import sys
import textwrap
import types
from collections.abc import Callable, Sequence
from pathlib import Path

from analysing import analyse, project_of
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from limited import limit

from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.records import EXPORTERS
from onnxlint.flow import part_results
from onnxlint.rules.engine.findings import run_rules
from onnxlint.rules.engine.fixes import with_fixes
from onnxlint.rules.engine.source_page import Page

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
SECONDS = 10  # of processor time for one program: a thousand times what most take
HEAD = "import math, itertools, functools, copy\nimport numpy as np\nimport torch\nimport torch.nn.functional as F\n"
HEAD += "from torch import nn\n"


def _of(owner: str, names: str) -> list[str]:
    return [f"{owner}{name}" for name in names.split()]


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().split("\n")]


NUMBERS = [
    *_of("", "0 1 -1 2 3 16 0.5 -0.0 1j True 1e999 -1e999 10**9 2**63 2**10**9 10**5000 float('nan') int('9'*5000)"),
    *_of("", "9223372036854775807 9223372036854775808 -9223372036854775808 -2**63-1 1<<10**9 1e308*10"),
    "9" * 4300,
    f"0x{'f' * 5000}",
]
NAMES = _of("", "x y a b c n s l d self self.a self.net self.d f g M K B")
ATOMS = [
    *NAMES,
    *NAMES,
    *_of("", "None 's' b's' '' ... () [] {} x.shape x.shape[0] x.size(1) x.sum() x.item() len(x) int(x) nn.ReLU()"),
    *_of("", "'s'*10**9 '%1000000000d'%1 f'{x:1000000000}' f'{n}' [0]*10**10 (x,)*n range(10**30) bytes(10**10)"),
    *_of("", "'a'.ljust(10**10) '²' '\\ud800' '\\0' torch"),
]
CALLS = [
    *_of(
        "", "int float round bool len range min max sum abs list tuple set sorted divmod iter reversed dict enumerate"
    ),
    *_of("", "zip map filter any all isinstance getattr hasattr setattr super next print str repr id type hash"),
    *_of("", "slice pow format complex bytes chr f g self self.f self.g self.net M super().f math.ceil math.sqrt"),
    *_of(
        "",
        "math.prod itertools.product itertools.chain functools.partial functools.reduce copy.copy np.arange",
    ),
    *_of("nn.", "Linear Conv2d Sequential ModuleList Parameter LSTM ZeroPad2d Unflatten Flatten Dropout Embedding"),
    *_of("torch.", "arange zeros ones full eye linspace randint tensor cat stack chunk split transpose permute where"),
    *_of("torch.", "einsum meshgrid tensordot outer kron topk sort roll flip gather squeeze unsqueeze vmap compile"),
    *_of("F.", "pad interpolate one_hot conv2d unfold fold pixel_shuffle max_pool2d avg_pool2d dropout linear glu"),
    *_of("F.", "adaptive_avg_pool2d scaled_dot_product_attention"),
    *_of("x.", "view reshape expand repeat transpose permute flatten unflatten unbind split chunk narrow size sum max"),
    *_of("x.", "topk squeeze unsqueeze to new_zeros tolist index_select masked_fill_ copy_ tile unfold movedim mean"),
    *_of("x.", "repeat_interleave diag_embed"),
    *_of("", "l.append l.extend l.insert l.pop d.get d.items d.update s.join s.replace s.format self.register_buffer"),
    *_of("self.", "add_module train eval net.append"),
    "torch.onnx.export",
]
OPERATORS = _of("", "+ + - * * / // % ** << >> @ & | ^")
COMPARISONS = ["<", "<=", "==", "!=", ">", "is", "is not", "in", "not in"]
DECORATORS = _of("", "g torch.no_grad() staticmethod classmethod property functools.wraps(f) torch.jit.script")
PARAMETERS = ["x", "x, y", "x, *a", "x, *a, **d", "x=K, *, n=B", "x, n: int = 3", "*a", "x, l: list[torch.Tensor] = []"]
# Lines that double what a name holds, or whatever else grows when it is run again.
FORMS = _lines("""
    l = [*l, *l]
    l += l
    l = l * 2
    l = [[*l, l] for x in l]
    l = sorted(l + l)
    l = list(zip(l, l))
    l = list(map(f, l, l))
    s = s + s
    s += s
    s = s.join([s, s])
    s = s.replace('s', s)
    n = f'{n}{n}'
    n = n * n
    n **= n
    n = x.shape[0] * n
    a = (a, a)
    a = a + a
    a = [a for a in (a, a) for b in l]
    a = tuple(reversed(a)) + a
    a = {(a, a): a}
    a = super(M, a)
    b = a, *a
    d = {**d, **d}
    d = {n: d, s: d}
    d = dict(zip(l, l))
    f = functools.partial(f, *a, *a, **d)
    f = lambda *b, f=f: f(*b, *b)
    f = f.a
    x = x[None, ...]
    x = x.view(*x.shape, *x.shape)
    x = torch.stack([x, x])
    x = x.unsqueeze(0)
    x = x.split(1)[0]
    x = torch.cat([x] * n)
    x[..., :n] = n
    x = x[:: n or 0]
    self.a = (self.a, self.a)
    self.l = [*self.l, *self.l]
    self.net = nn.Sequential(self.net, self.net)
    M = type(M.__name__, (M,), d)
""")


@st.composite
def expressions(draw: st.DrawFn, depth: int = 2) -> str:
    """An expression: names and odd numbers at the leaves."""
    kind = draw(st.integers(0, 13 if depth else 1))

    def part() -> str:
        return draw(expressions(depth - 1))

    if kind <= 1:
        return draw(st.sampled_from(ATOMS if kind else NUMBERS))
    if kind <= 4:
        stars = st.sampled_from(("", "", "", "*", "**", "dim=", "n="))
        args = sorted((f"{draw(stars)}{part()}" for _ in range(draw(st.integers(0, 3)))), key=_order)
        return f"{draw(st.sampled_from(CALLS))}({', '.join(args)})"
    if kind <= 6:
        return f"({part()} {draw(st.sampled_from(OPERATORS))} {part()})"
    if kind == 7:
        return f"({part()} {draw(st.sampled_from(COMPARISONS))} {part()})"
    if kind == 8:
        return f"({part()} if {part()} else {part()})"
    if kind == 9:
        left, right = draw(st.sampled_from(("[]", "()", "{}")))
        star = draw(st.sampled_from(("", "*")))
        return f"{left}{star}{part()}, {part()},{right}"
    if kind == 10:
        return f"{draw(st.sampled_from(NAMES))}[{draw(st.sampled_from(('', ':', '::', 'None, ', '..., ')))}{part()}]"
    if kind == 11:
        return f"[{part()} for b in {part()} if {part()}]"
    if kind == 12:
        return f"{{{part()}: {part()}, **{draw(st.sampled_from(NAMES))}}}"
    return f"(lambda a, *b: {part()})({part()})"


def _order(argument: str) -> int:
    """Arguments by position come before those by name, or no program would parse."""
    return 2 if argument.startswith("**") else 1 if argument.startswith(("dim=", "n=")) else 0


@st.composite
def statements(draw: st.DrawFn, depth: int = 2) -> str:
    """A statement, with blocks in it as far as `depth` goes."""
    kind = draw(st.integers(0, 12 if depth else 5))
    value = expressions()

    def block() -> str:
        body = draw(st.lists(statements(depth - 1), min_size=1, max_size=3))
        return textwrap.indent("\n".join(body), "    ")

    if kind <= 1:
        return draw(st.sampled_from(FORMS))
    if kind <= 4:
        return f"{draw(st.sampled_from((*NAMES, 'x[0]', 'd[n]', 'self.b', 'a, *b', 'self.l')))} = {draw(value)}"
    if kind == 5:
        name = draw(st.sampled_from(("x", "n", "s", "l", "a", "self.a", "self.l", "x[0]")))
        return f"{name} {draw(st.sampled_from(OPERATORS))}= {draw(value)}"
    if kind == 6:
        return f"if {draw(value)}:\n{block()}\nelse:\n{block()}"
    if kind == 7:
        return f"for {draw(st.sampled_from(('x', 'a, *b', 'l[0]', 'n')))} in {draw(value)}:\n{block()}"
    if kind == 8:
        return f"while {draw(value)}:\n{block()}"
    if kind == 9:
        return f"with {draw(value)} as a:\n{block()}"
    if kind == 10:
        return f"try:\n{block()}\nexcept ValueError as b:\n{block()}"
    if kind == 11:
        return f"match {draw(value)}:\n    case [a, *b]:\n{textwrap.indent(block(), '    ')}\n    case _:\n        pass"
    return draw(functions("f"))


@st.composite
def functions(draw: st.DrawFn, name: str, method: bool = False) -> str:
    """A function: the arguments of its last line go round in most."""
    decorator = draw(st.sampled_from((*[""] * 8, *DECORATORS)))
    repeated = draw(st.sampled_from((1, 1, 1, 2, 40)))
    body = draw(st.lists(statements(), max_size=4))
    body = [line for line in body for _ in range(repeated if line in FORMS else 1)]
    ends = ("x", "f(x)", "self.g(x)", "f(*a, *a)", "self.f(*a, *a, **d)", "M(x, x)", "self(x)", "g(*l, **d)", "x, a")
    body.append(f"return {draw(st.sampled_from(ends) | expressions())}")
    head = f"def {name}({'self, ' * method}{draw(st.sampled_from(PARAMETERS))}):\n"
    return (f"@{decorator}\n" if decorator else "") + head + textwrap.indent("\n".join(body), "    ")


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A module: constants, functions, a model, and perhaps a script that exports it."""
    lines = [f"K = {draw(expressions())}", f"B = {draw(st.sampled_from(('K + K', 'K * K', '[*K, *K]', '(K, K)')))}"]
    lines += [draw(functions(name)) for name in ("f", "g")]
    base = draw(st.sampled_from((*["nn.Module"] * 4, "nn.Sequential", "torch.autograd.Function", "B")))
    lines.append(f"class M({base}):\n    l = a = K\n    b: int = {draw(expressions())}")
    built = "\n".join(["super().__init__()", "self.net = M(x)", *draw(st.lists(statements(), max_size=3))])
    lines.append(f"    def __init__(self, x=K, *a):\n{textwrap.indent(built, '        ')}")
    names = ("forward", "f", draw(st.sampled_from(("g", "__len__", "__getattr__", "__iter__", "train", "eval"))))
    lines += [textwrap.indent(draw(functions(name, method=True)), "    ") for name in names]
    if draw(st.booleans()):
        model, more = draw(expressions()), draw(expressions())
        lines.append(f"torch.onnx.export(M({model}), (torch.randn(2, 3),), 'm.onnx', {more})")
    return HEAD + "\n".join(lines) + "\n"


def sources() -> Sequence[str]:
    """The files of the fixtures that are not very long."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(FIXTURES.rglob("*.py"))]
    return [text for text in texts if len(text) < 8000]


@st.composite
def mutations(draw: st.DrawFn) -> str:
    """A fixture in which some expressions are others."""
    text = draw(st.sampled_from(sources()))
    lines = text.encode().split(b"\n")
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.expr) and n.lineno == n.end_lineno]
    places = st.sampled_from(nodes or [ast.parse("x").body[0].value])
    for node in draw(st.lists(places, min_size=1, max_size=4, unique_by=lambda n: n.lineno)):
        line = lines[node.lineno - 1]
        new = draw(expressions()).encode()
        lines[node.lineno - 1] = line[: node.col_offset] + new + line[node.end_col_offset :]
    return b"\n".join(lines).decode()


class TooLong(BaseException):
    """A program took more processor time than one may; no handler of the analysis takes it for an error."""


def _stop(_signal: int, _frame: types.FrameType | None) -> None:
    raise TooLong


def outcome(text: str) -> list[object]:
    """Everything that the static pass says of a program."""
    project = project_of(text)
    found = analyse(project, debug=True)
    written = part_results.plain(found.observations)
    assert part_results.restored(written) == list(found.observations)
    record = part_results.Outcome(written, found.problems, found.candidates, (), (), {}, {}, {}, ({}, (), ()))
    with contextlib.suppress(UnicodeEncodeError):  # a name that is no text: nothing is kept for the next run
        part_results.encode(record)
    findings, broken = run_rules(found.observations, load_catalogue(), EXPORTERS, lambda *_: True, lambda _: text)
    assert broken == ()
    assert not any(problem.internal for problem in found.problems)
    return [*with_fixes(findings, Page("/nowhere/model.py", text)), *found.problems, *found.candidates]


def is_python(text: str) -> bool:
    """Whether Python's own parser takes a text."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def holds(text: str) -> None:
    """Analyse a program twice, within the limits."""
    if not is_python(text):
        return
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        first = outcome(text)
        assert repr(outcome(text)) == repr(first)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def run(strategy: st.SearchStrategy[str], visit: Callable[[str], None], count: int, start: int | None = None) -> None:
    """Visit so many texts: the same ones each time, or those that another start gives, which are made smaller then."""
    test = settings(
        max_examples=count,
        derandomize=start is None,
        database=None,
        deadline=None,
        phases=(Phase.generate,) if start is None else (Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )(given(strategy)(visit))
    (test if start is None else seed(start)(test))()


def survey(count: int) -> tuple[int, int]:
    """Of so many programs, how many parse, and how many of these the analysis has something to say of."""
    counted = [0, 0]

    def visit(text: str) -> None:
        if is_python(text):
            counted[0] += 1
            counted[1] += bool(analyse(project_of(text)).observations)

    run(programs(), visit, count)
    return counted[0], counted[1]


def main(count: int, start: int | None = None) -> None:
    """Run programs and mutations."""
    signal.signal(signal.SIGPROF, _stop)
    limit()
    for name, strategy in (("programs", programs()), ("mutations", mutations())):
        run(strategy, holds, count, start)
        print(f"{count} {name}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
