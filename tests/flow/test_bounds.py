"""Programs of a few lines whose values grow without end, or that Python's own arithmetic refuses: the analysis ends."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from limited import outcomes

from onnxlint.flow.values.domain import WEIGHT

SECONDS = 60  # of processor time for all programs; they take about five
TIMES = 40
HEAD = "import functools, itertools, math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"


def model(body: str, *, again: str = "", before: str = "", built: str = "pass", times: int = TIMES) -> str:
    """A model whose forward runs some lines, then others again and again, and then asks a tensor."""
    lines = ["def forward(self, x, *a, **d):", *f"    {body}".split("\n"), *[f"    {again or 'pass'}"] * times]
    lines += ["    y = torch.relu(x)", "    if x.sum() > 0:", "        return -x", "    return x"]
    init = ["def __init__(self, dim=3):", "    super().__init__()", *(f"    {line}" for line in built.split("\n"))]
    return f"{HEAD}{before}\nclass M(nn.Module):\n" + "\n".join(f"    {line}" for line in (*init, *lines)) + "\n"


def chain(first: str, then: str) -> str:
    """Constants of a module, each made of the one before."""
    return f"K0 = {first}\n" + "".join(f"K{i + 1} = {then.replace('K', f'K{i}')}\n" for i in range(TIMES))


LITERALS = f"L = [{'1,' * 50_000}]\n"
GROWING = {
    "arguments of a call": model("f(x)", before="def f(*a): return f(*a, *a)\n"),
    "arguments by name": model("f(x)", before="def f(*a, **d): return f(*a, *a, **d, **{'k': a, len(a): d})\n"),
    "arguments of two functions": model(
        "f(*[x] * 9)", before="def f(*a): return g(*a, *a)\ndef g(*a): return f(a, *a)\n"
    ),
    "a list display": model("l = [x]", again="l = [*l, *l]"),
    "a tuple display": model("l = (x, 1)", again="l = (*l, *l)"),
    "very many stars": model(f"y = [{'*l,' * 20_000}]; f({'*l,' * 20_000})", before=f"l = [{'1,' * 1000}]\n"),
    "very many double stars": model(f"y = {{{'**e,' * 20_000}}}", before="e = {i: i for i in range(999)}\n"),
    "a sum of lists": model("l = [x, x]", again="l = l + l"),
    "a list times a number": model("l = [x]", again="l = l * 30"),
    "a string": model("s = 'abc'", again="s = s + s"),
    "a string in place": model("s = 'abc'", again="s += s"),
    "a name of an attribute": model("s = 'abc'\n    setattr(self, s, x)", again="s = s + s; setattr(self, s, x)"),
    "strings of a module": model("y = K40", before=chain("'ab'", "K + K")),
    "lists of a module": model("y = K40", before=chain("[1]", "[*K, *K]")),
    "pairs of a module": model("y = K40", before=chain("(1, 2)", "(K, K)")),
    "attributes of a class": model("y = C.l", before="class C:\n    l = [1]\n" + "    l = [*l, *l]\n" * TIMES),
    "a nest of pairs": model("l = (x, x)", again="l = (l, l); f(l)", before="def f(l): return l\n"),
    "a deep nest": model("l = x", again="l = [l]; f(l)", before="def f(l): return l\n", times=1000),
    "a number": model("n = 3", again="n = n * n"),
    "a size": model("n = x.shape[0]", again="n = n * n; x.view(n)"),
    "a dict": model("d = {'a': x}", again="d = {**d, **d, len(d): d}"),
    "keys of a dict": model("d = {'a': x}", again="d = {**d, **{k + 'b': v for k, v in d.items()}}"),
    "dims of a view": model("y = x.view(1, 2)", again="y = y.view(*y.shape, *y.shape)"),
    "dims of an outer product": model("y = x.view(1, 2)", again="y = torch.outer(y, y)"),
    "dims by an index": model("y = x.view(1, 2)", again="y = y[None, None, ..., None]", times=500),
    "a partial": model("f = functools.partial(g, x)", again="f = functools.partial(f, f, f, n=f)", before="g = max\n"),
    "a container of modules": model(
        "self.m(x)", built="self.m = nn.ReLU()\n" + "self.m = nn.Sequential(self.m, self.m)\n" * TIMES
    ),
    "modules in a container": model(
        "self.m(x)", built="self.m = nn.Sequential(nn.ReLU())\n" + "self.m = nn.Sequential(*self.m, *self.m)\n" * TIMES
    ),
    "an attribute": model("self.l = (x,)", again="self.l = (*self.l, *self.l)"),
    "a lambda": model("f = lambda *b: f(*b, *b)\n    f(x)"),
    "a comprehension": model("l = [x, x]", again="l = [(b, b) for b in l]"),
    "a nest of comprehensions": model("l = [x]", again="l = [(b, c) for b in l for c in l]"),
    "zip": model("l = [(x, x), (x, x)]", again="l = list(zip(*l, *l))"),
    "super": model("s = self", again="s = super(M, s)", times=1000),
    "the name of an attribute": model("f = torch", again="f = f.a_long_name_of_an_attribute; f(x)", times=1000),
    "defaults": model(
        "f0(x)",
        before="".join(f"def f{i}(x, a=(1, 2)):\n    return f{i + 1}(x, (a, a))\n" for i in range(TIMES))
        + f"def f{TIMES}(x, a): return x\n",
    ),
    "decorators": model(
        "f(x)",
        before="def g(h):\n    def w(*a, **d): return h(*a, *a, **d)\n    return w\n"
        + "@g\n" * 20
        + "def f(*a): return a[0]\n",
    ),
    "a constructor": model("y = M(3)", built="self.l = [dim, dim]\nself.m = M([*self.l, *self.l])"),
    "a loop": model("l = (x,)\n    for i in range(9):\n        for j in range(9):\n            l = (*l, *l)"),
    "copies of a long list": model("l = L", again="l = list(l)", before=LITERALS, times=400),
    "a long list walked": model("l = [x]", again="l = [v for v in L]", before=LITERALS, times=400),
}
REFUSED = {
    "int(1e999)": "n = int(1e999)",
    "round(nan)": "n = round(float('nan')); n = round(1e999); n = int(-1e999)",
    "an axis beyond 64 bits": "y = x.transpose(9223372036854775808, -9223372036854775809)",
    "a range beyond 4,300 digits": f"y = torch.arange(0x{'f' * 9000})",
    "a range of 4,300 digits": f"y = torch.arange({'9' * 4300}); y = torch.zeros({'9' * 4300})",
    "a range that is no size": "y = torch.arange(-(2**62), 2**62, 1); y = torch.arange(1e999)",
    "a range of 10**30": "for i in range(10**30): x = x + i",
    "powers": "n = 2 ** 10 ** 9; n = 1 << 10 ** 9; n = 10 ** 5000; n = 0 ** -1; n = 2.0 ** 10 ** 9; n = (-8) ** 0.5",
    "long numbers in texts": "n = int('9' * 5000); s = str(10 ** 5000); s = repr(10 ** 5000); n = float('1e999')",
    "formats": "s = '%1000000000d' % 1; s = f'{x:1000000000}'; s = '{:1000000000}'.format(1); s = 'a'.ljust(10 ** 10)",
    "sequences of 10**10": "s = 'a' * 10 ** 10; l = [0] * 10 ** 10; l = 10 ** 10 * (0,); s = bytes(10 ** 10)",
    "replacements": "s = 'a' * 1000; s = s.replace('a', s); s = s.join([s] * 1000); s = s.join(s)",
    "products": "l = list(itertools.product(range(10 ** 9), repeat=100))",
    "nothing as a divisor": "n = 1 / 0; n = 1 // 0; n = 1 % 0; n = 1.0 % 0; n = divmod(1, 0); n = x.shape[0] // 0",
    "floats and complex numbers": "n = 1e308 * 10; n = -0.0; n = 1j ** 1e9; n = abs(1j); n = int(n); y = x * 1j",
    "pieces of 10**12": "y = torch.zeros(10 ** 12).split(1); y = torch.zeros(9).chunk(10 ** 12)",
    "pieces of an axis": "y = torch.tensor_split(x, 10 ** 12); y = torch.zeros(10 ** 12).unbind()",
    "slices": "y = x.shape[:10 ** 12]; y = x.shape[-10 ** 12:]; y = x.shape[::0]; y = x[::0]; y = [1, 2][::0]",
    "repeats": "y = x.repeat(10 ** 12, 2 ** 62).repeat(2 ** 62, 2 ** 62).expand(2 ** 62, -1); y = x.tile(10 ** 12)",
    "digits that are no numbers": "y = getattr(nn, 'Conv²d')(3)(x); y = getattr(F, 'pad²d')(x, 2); n = int('²')",
    "a long equation": f"y = torch.einsum('{'ab,' * 3000}->ab', x)",
    "texts that are no text": "s = '\\ud800' + '\\0'; y = getattr(x, s); setattr(self, s, x); d = {s: x, **d}",
}
ANNOTATED = (
    f"{HEAD}class M(nn.Module):\n    def forward(self, x, a: '{{}}', b: Float[Tensor, '{'9' * 5000} n'] = None):\n"
)
ANNOTATED += "        if x.sum() > 0:\n            return -x\n        return x\n"
# What the text of a function says of its parameters, asked of lines of 300,000 characters.
LINES = f"""{HEAD}class M(nn.Module):
    def forward(self, x, y, gt=None):
        y[0] = 0{"; y[0] = 0" * 30_000}
        if gt is not None:
            loss = 0{"; loss = 0" * 30_000}
        if x.sum() > 0:
            return -x
        return x
"""
PROGRAMS = {
    **GROWING,
    **{name: model(line) for name, line in REFUSED.items()},
    "very long lines": LINES,
    "an annotation of brackets": ANNOTATED.replace("{}", "[" * 5000),
    "an annotation with a null byte": ANNOTATED.replace("{}", "a\\0b"),
    "an annotation that is no text": ANNOTATED.replace("{}", "\\ud800"),
}


@cache
def told() -> dict[str, dict[str, Any]]:
    """What came of every program; one that is not among them ended the process, or came after it."""
    return outcomes(PROGRAMS, SECONDS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_whose_values_are_very_large_is_analysed_to_its_end(name: str) -> None:
    result = told()[name]
    assert result["error"] == ""
    assert result["problems"] == []
    assert "x.sum() > 0" in result["observations"]


def test_functions_that_export_and_call_each_other_are_analysed_to_their_end() -> None:
    calls = "".join(f"    e{n}(*a)\n" for n in range(9))
    export = "    torch.onnx.export(M(), torch.rand(1, 3), 'm.onnx')\n"
    each_other = model("pass") + "".join(f"def e{n}(*a):\n{export}{calls}" for n in range(9))
    (result,) = outcomes({"each other": each_other}, SECONDS).values()
    assert (result["error"], result["problems"]) == ("", [])


def test_heavy_values_take_steps() -> None:
    heavy = model("l = L", again="l = [*l]; l = (*l,)", before=f"L = [{'1,' * WEIGHT}]\n", times=2000)
    (result,) = outcomes({"heavy": heavy}, SECONDS).values()
    assert [problem.partition(";")[0] for problem in result["problems"]] == [
        "M.forward takes too many steps to analyse"
    ]
