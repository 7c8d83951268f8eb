"""Programs by a grammar, and what must hold of each: run in a process of its own, under limits (see test_fuzz.py).

`python tests/flow/fuzz_programs.py COUNT [SEED]` runs COUNT programs of each kind: always the same ones without a seed.
"""

from __future__ import annotations

import ast
import resource
import signal
import sys
import textwrap
import types
from collections.abc import Sequence
from pathlib import Path

from analysing import project_of
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from onnxlint.catalogue import load_catalogue
from onnxlint.checks.registry import run_checks
from onnxlint.fix.registry import with_fixes
from onnxlint.flow import results
from onnxlint.flow.entries import analyse
from onnxlint.records import EXPORTERS

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
MEMORY = 500_000_000
SECONDS = 10  # of processor time for one program: a thousand times what most take
HEAD = "import math, itertools, functools, copy\nimport numpy as np\nimport torch\nimport torch.nn.functional as F\n"
HEAD += "from torch import nn\n"

NUMBERS = (
    *("0", "1", "-1", "2", "3", "16", "10**9", "2**63", "-2**63 - 1", "2**10**9", "1 << 10**9", "10**5000"),
    *("9" * 4300, f"0x{'f' * 5000}", "1e999", "-1e999", "float('nan')", "-0.0", "1j", "1e308 * 10", "True"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "0.5", "int('9' * 5000)"),
)
NAMES = ("x", "y", "a", "b", "c", "n", "s", "l", "d", "self", "self.a", "self.net", "self.d", "f", "g", "M", "K", "B")
ATOMS = (
    *NAMES,
    *NAMES,
    *("None", "'s'", "b's'", "''", "'s' * 10**9", "'%1000000000d' % 1", "f'{x:1000000000}'", "f'{n}'", "...", "()"),
    *(
        "[]",
        "{}",
        "x.shape",
        "x.shape[0]",
        "x.size(1)",
        "x.sum()",
        "x.item()",
        "len(x)",
        "int(x)",
        "torch",
        "nn.ReLU()",
    ),
    *("[0] * 10**10", "(x,) * n", "range(10**30)", "bytes(10**10)", "'a'.ljust(10**10)", "'²'", "'\\ud800'", "'\\0'"),
)
CALLS = (
    *("int", "float", "round", "bool", "len", "range", "min", "max", "sum", "abs", "list", "tuple", "set", "sorted"),
    *("divmod", "iter", "reversed", "dict", "enumerate", "zip", "map", "filter", "any", "all", "isinstance", "getattr"),
    *("hasattr", "setattr", "super", "next", "print", "str", "repr", "id", "type", "hash", "slice", "pow", "format"),
    *("complex", "bytes", "chr", "itertools.product", "itertools.chain", "functools.partial", "functools.reduce"),
    *("copy.deepcopy", "math.ceil", "math.prod", "math.sqrt", "np.array", "np.arange", "f", "g", "self.f", "self.g"),
    *("self.net", "self", "M", "nn.Linear", "nn.Conv2d", "nn.Sequential", "nn.ModuleList", "nn.Parameter", "nn.LSTM"),
    *("nn.ZeroPad2d", "nn.Unflatten", "nn.Flatten", "nn.Dropout", "nn.Embedding", "nn.PixelShuffle", "super().f"),
    *(
        f"torch.{name}"
        for name in ["arange", "zeros", "ones", "full", "eye", "linspace", "randint", "tensor", "cat", "stack", "chunk"]
    ),
    *(
        f"torch.{name}"
        for name in ["split", "transpose", "permute", "where", "einsum", "meshgrid", "tensordot", "outer", "kron"]
    ),
    *(
        f"torch.{name}"
        for name in ["topk", "sort", "roll", "flip", "gather", "squeeze", "unsqueeze", "vmap", "compile", "cond"]
    ),
    *(
        f"F.{name}"
        for name in [
            "pad",
            "interpolate",
            "one_hot",
            "conv2d",
            "unfold",
            "fold",
            "pixel_shuffle",
            "max_pool2d",
            "avg_pool2d",
        ]
    ),
    *(f"F.{name}" for name in ["dropout", "linear", "adaptive_avg_pool2d", "scaled_dot_product_attention", "glu"]),
    *(
        f"x.{name}"
        for name in [
            "view",
            "reshape",
            "expand",
            "repeat",
            "transpose",
            "permute",
            "flatten",
            "unflatten",
            "unbind",
            "split",
        ]
    ),
    *(
        f"x.{name}"
        for name in [
            "chunk",
            "narrow",
            "size",
            "sum",
            "mean",
            "max",
            "topk",
            "squeeze",
            "unsqueeze",
            "to",
            "new_zeros",
            "tolist",
        ]
    ),
    *(
        f"x.{name}"
        for name in [
            "index_select",
            "masked_fill_",
            "copy_",
            "tile",
            "unfold",
            "movedim",
            "repeat_interleave",
            "diag_embed",
        ]
    ),
    *("l.append", "l.extend", "l.insert", "l.pop", "d.get", "d.items", "d.update", "s.join", "s.replace", "s.format"),
    *("self.register_buffer", "self.add_module", "self.train", "self.eval", "self.net.append", "torch.onnx.export"),
)
OPERATORS = ("+", "+", "-", "*", "*", "/", "//", "%", "**", "<<", ">>", "@", "&", "|", "^")
COMPARISONS = ("<", "<=", "==", "!=", ">", "is", "is not", "in", "not in")
DECORATORS = (
    "g",
    "torch.no_grad()",
    "staticmethod",
    "classmethod",
    "property",
    "functools.wraps(f)",
    "torch.jit.script",
)
PARAMETERS = ("x", "x, y", "x, *a", "x, *a, **d", "x=K, *, n=B", "x, n: int = 3", "*a", "x, l: list[torch.Tensor] = []")
FORMS = (  # lines that double what a name holds, or what else grows when it is run again
    *(
        "l = [*l, *l]",
        "s = s + s",
        "s += s",
        "a = (a, a)",
        "d = {**d, **d}",
        "d = {n: d, s: d}",
        "n = n * n",
        "n **= n",
    ),
    *(
        "l += l",
        "l = l * 2",
        "a = a + a",
        "a = [a for a in (a, a) for b in l]",
        "f = functools.partial(f, *a, *a, **d)",
    ),
    *(
        "x = x[None, ...]",
        "x = x.view(*x.shape, *x.shape)",
        "x = torch.stack([x, x])",
        "x = x.unsqueeze(0)",
        "g = super",
    ),
    *("self.a = (self.a, self.a)", "self.l = [*self.l, *self.l]", "a = super(M, a)", "f = f.a", "l = list(zip(l, l))"),
    *("d = dict(zip(l, l))", "self.net = nn.Sequential(self.net, self.net)", "n = f'{n}{n}'", "l = sorted(l + l)"),
    *(
        "a = {(a, a): a}",
        "l = [[*l, l] for x in l]",
        "f = lambda *b, f=f: f(*b, *b)",
        "n = x.shape[0] * n",
        "b = a, *a",
    ),
    *("x = x.split(1)[0]", "x = torch.cat([x] * n)", "x[..., :n] = n", "x = x[:: n or 0]", "l = list(map(f, l, l))"),
    *("s = s.join([s, s])", "s = s.replace('s', s)", "a = tuple(reversed(a)) + a", "M = type(M.__name__, (M,), d)"),
)


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
    bases = draw(
        st.sampled_from(("nn.Module", "nn.Module", "nn.Module", "nn.Sequential", "torch.autograd.Function", "B"))
    )
    lines.append(f"class M({bases}):\n    l = a = K\n    b: int = {draw(expressions())}")
    built = "\n".join(["super().__init__()", "self.net = M(x)", *draw(st.lists(statements(), max_size=3))])
    lines.append(f"    def __init__(self, x=K, *a):\n{textwrap.indent(built, '        ')}")
    names = ("forward", "f", draw(st.sampled_from(("g", "__len__", "__getattr__", "__iter__", "train", "eval"))))
    lines += [textwrap.indent(draw(functions(name, method=True)), "    ") for name in names]
    if draw(st.booleans()):
        lines.append(
            f"torch.onnx.export(M({draw(expressions())}), (torch.randn(2, 3),), 'm.onnx', {draw(expressions())})"
        )
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
    picked = (
        draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=4, unique_by=lambda n: n.lineno)) if nodes else []
    )
    for node in picked:
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
    written = results.plain(found.facts)
    assert results.told(written) == list(found.facts)
    record = results.Outcome(written, found.problems, found.candidates, (), (), {}, {}, {}, ({}, (), ()))
    results.encode(record)
    findings, broken = run_checks(found.facts, load_catalogue(), EXPORTERS, lambda code, name: True)
    assert broken == ()
    assert not any(problem.internal for problem in found.problems)
    return [*with_fixes(findings, lambda _: text), *found.problems, *found.candidates]


def holds(text: str) -> None:
    """Analyse a program twice, within the limits."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        first = outcome(text)
        assert repr(outcome(text)) == repr(first)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def main(count: int, start: int | None = None) -> None:
    """Run programs and mutations."""
    signal.signal(signal.SIGPROF, _stop)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for strategy in (programs(), mutations()):
        test = settings(
            max_examples=count,
            derandomize=start is None,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink) if start is not None else (Phase.generate,),
            suppress_health_check=list(HealthCheck),
        )(given(strategy)(holds))
        (test if start is None else seed(start)(test))()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
