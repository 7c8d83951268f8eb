"""What the interpreter sees inside one file: hazards at the end of every way that Python has to get there."""

from __future__ import annotations

import textwrap

import pytest
from analysing import facts_of, told
from test_silence import forward

from onnxlint.flow.state.observations import Branch, Observation

BODIES = {
    "if": ("if x.sum() > 0:\n    x = x + 1\nreturn x", ["Branch data: x.sum() > 0"]),
    "elif": ("if self.flag:\n    pass\nelif x.sum() > 0:\n    x = x + 1\nreturn x", ["Branch data: x.sum() > 0"]),
    "while": ("while x.sum() > 0:\n    x = x - 1\nreturn x", ["Branch data: x.sum() > 0"]),
    "a conditional expression": ("return x if x.sum() > 0 else -x", ["Branch data: x.sum() > 0"]),
    "bool()": ("if bool(x.any()):\n    x = x + 1\nreturn x", ["Branch data: bool(x.any())"]),
    "the item of a tensor": ("n = x.sum().item()\nif n > 0:\n    return x\nreturn -x", ["Branch data: n > 0"]),
    "a walrus": ("if (n := x.sum()) > 0:\n    return x * n\nreturn -x", ["Branch data: (n := x.sum()) > 0"]),
    "match": ("match int(x.sum()):\n    case 0:\n        return x\nreturn -x", ["Branch data: int(x.sum())"]),
    "a guard of a case": (
        "match self.flag:\n    case True if x.sum() > 0:\n        return x\nreturn -x",
        ["Branch data: x.sum() > 0"],
    ),
    "the if of a comprehension": (
        "return sum([b(x) for b in self.blocks if x.sum() > 0])",
        ["Branch data: x.sum() > 0"],
    ),
    "what is left after an early return": (
        "if self.flag:\n    return x\nif x.sum() > 0:\n    return x\nreturn -x",
        ["Branch data: x.sum() > 0"],
    ),
    "what try has assigned": (
        "try:\n    n = x.sum()\nexcept ValueError:\n    n = None\nfinally:\n    x = x + 1\nreturn x if n > 0 else -x",
        ["Branch data: n > 0"],
    ),
    "a handler": (
        "try:\n    x = self.lin(x)\nexcept ValueError:\n    assert x.any()\nreturn x",
        ["Assertion data: x.any()"],
    ),
    "a finally": (
        "try:\n    x = self.lin(x)\nfinally:\n    assert x.any()\nreturn x",
        ["Assertion data: x.any()"],
    ),
    "a with": ("with torch.no_grad():\n    n = x.sum()\nreturn x if n > 0 else -x", ["Branch data: n > 0"]),
    "what a while loop carries": ("n = 0\nwhile n < 3:\n    n = n + x.sum()\nreturn x", ["Branch data: n < 3"]),
    "what a for loop carries": (
        "n = 0\nfor b in self.blocks:\n    if n > 0:\n        x = b(x)\n    n = x.sum()\nreturn x",
        ["Branch data: n > 0"],
    ),
    "the else of a loop": (
        "for b in self.blocks:\n    x = b(x)\nelse:\n    assert x.any()\nreturn x",
        ["Assertion data: x.any()"],
    ),
    "what an arm that breaks has assigned": (
        "n = 0\nfor b in self.blocks:\n    n = x.sum()\n    break\nreturn x if n > 0 else -x",
        ["Branch data: n > 0"],
    ),
    "a value of a dict": ('d = {"n": x.sum()}\nreturn x if d["n"] > 0 else -x', ["Branch data: d['n'] > 0"]),
    "a value put into a dict": (
        'd = {}\nd["n"] = x.sum()\nreturn x if d["n"] > 0 else -x',
        ["Branch data: d['n'] > 0"],
    ),
    "an item of a list": ("a = [1, x.sum()]\nreturn x if a[1] > 0 else -x", ["Branch data: a[1] > 0"]),
    "an item appended to a list": (
        "a = []\na.append(x.sum())\nreturn x if a[0] > 0 else -x",
        ["Branch data: a[0] > 0"],
    ),
    "a starred target": ("a, *b = [3, x, x]\nreturn x if b[0].any() else -x", ["Branch data: b[0].any()"]),
    "the size of what nonzero found": (
        "i = torch.nonzero(x)\nreturn x if i.numel() == 0 else -x",
        ["Branch data: i.numel() == 0"],
    ),
    "the length of what a mask selects": (
        "k = x[x > 0]\nreturn x if len(k) == 0 else -x",
        ["Branch data: len(k) == 0"],
    ),
    "a dynamic size": ("return x if x.shape[0] > 3 else -x", ["Branch dim: x.shape[0] > 3"]),
    "a size that may be dynamic": ("return x if x.shape[1] > 3 else -x", ["Branch dim: x.shape[1] > 3?"]),
    "arithmetic on a dynamic size": (
        "n = x.size(0) // 2 + 1\nreturn x if n % 4 == 0 else -x",
        ["Branch dim: n % 4 == 0"],
    ),
    "a function inside forward": (
        "def g(y):\n    if y.sum() > 0:\n        return y\n    return -y\nreturn g(x)",
        ["Branch data: y.sum() > 0"],
    ),
    "a closure over a tensor": (
        "t = x.sum()\ndef g():\n    return x if t > 0 else -x\nreturn g()",
        ["Branch data: t > 0"],
    ),
    "a lambda": ("g = lambda y: y if y.sum() > 0 else -y\nreturn g(x)", ["Branch data: y.sum() > 0"]),
    "a lambda given to map": (
        "return sum(map(lambda y: y if y.sum() > 0 else -y, [x, x]))",
        ["Branch data: y.sum() > 0"],
    ),
    "an assert": ("assert (x > 0).all()\nreturn x", ["Assertion data: (x > 0).all()"]),
    "an if that only raises": (
        "if (x < 0).any():\n    raise ValueError\nreturn x",
        ["Assertion data: (x < 0).any()"],
    ),
    "a loop over a tensor": ("for row in x:\n    y = row\nreturn y", ["Loop tensor: x"]),
    "a loop over tensors side by side": (
        "for a, b in zip(x, x):\n    y = a * b\nreturn y",
        ["Loop tensor: zip(x, x)"],
    ),
    "a loop over a tensor, counted": (
        "for i, a in enumerate(x):\n    y = a * i\nreturn y",
        ["Loop tensor: enumerate(x)"],
    ),
    "list() of a tensor": ("return torch.stack(list(x))", ["Loop tensor: list(x)"]),
    "a loop as often as tensor data says": (
        "for _ in range(int(x.sum())):\n    x = x + 1\nreturn x",
        ["Loop data: range(int(x.sum()))"],
    ),
    "a loop as often as an axis is long": (
        "for i in range(x.shape[0]):\n    x = x + i\nreturn x",
        ["Loop dim: range(x.shape[0])"],
    ),
    "a chained comparison": (
        "ok = 0 < x.sum() < 1\nreturn torch.where(ok, x, -x)",
        ["BoolOperator: 0 < x.sum() < 1"],
    ),
    "max() of tensors": ("return x * max(x.sum(), x.mean())", ["BoolOperator max(): max(x.sum(), x.mean())"]),
    "int() of a size that shapes something": (
        "n = int(x.shape[0])\nreturn x.view(n, -1)",
        ["Escape int() dim: int(x.shape[0])"],
    ),
    "math on a size that shapes something": (
        "return x[: math.ceil(x.shape[0] / 2)]",
        ["Escape math.ceil() dim: math.ceil(x.shape[0] / 2)"],
    ),
    "len() that shapes something": ("return x.view(len(x), -1)", ["Escape len() dim: len(x)"]),
    "an item that the graph needs": ("return x * x.max().item()", ["Escape .item() data: x.max().item()"]),
    "tolist": ("return x + torch.tensor(x.tolist())", ["Escape .tolist() data: x.tolist()"]),
    "numpy": ("return torch.from_numpy(x.numpy())", ["Escape .numpy() data: x.numpy()"]),
    "a function of numpy": ("return torch.from_numpy(np.abs(x))", ["Escape numpy.abs data: np.abs(x)"]),
    "torch.as_tensor of a list of tensors": (
        "return torch.as_tensor([x.sum(), x.mean()])",
        ["TensorFromPython torch.as_tensor tensor: torch.as_tensor([x.sum(), x.mean()])"],
    ),
    "a tensor of Python numbers up to a size": (
        "return x + torch.tensor(list(range(x.shape[0])))",
        ["TensorFromPython torch.tensor length: torch.tensor(list(range(x.shape[0])))"],
    ),
    "squeeze of every axis": ("return x.squeeze().sum(0)", ["Squeeze: x.squeeze()"]),
    "dropout that is always on": ("return F.dropout(x, 0.5)", ["DropoutCall: F.dropout(x, 0.5)"]),
    "a draw": ("return x + torch.rand_like(x)", ["RandomDraw torch: torch.rand_like(x)"]),
    "a draw of numpy": ("return x * np.random.rand()", ["RandomDraw python: np.random.rand()"]),
    "a draw of random": ("return x * random.random()", ["RandomDraw python: random.random()"]),
    "an operator that no exporter lowers": (
        "return torch.linalg.inv(x)",
        ["Call export-error: torch.linalg.inv(x)"],
    ),
    "batch statistics": (
        "return F.batch_norm(x, None, None, training=True)",
        ["BatchNormCall: F.batch_norm(x, None, None, training=True)"],
    ),
    "index_add": ("return x.index_add(0, x.argmax(1), x)", ["IndexAddCall: x.index_add(0, x.argmax(1), x)"]),
    "train mode in forward": ("self.lin.train()\nreturn self.lin(x)", ["ModeSwitch forward: self.lin.train()"]),
    "a global": ("global last\nlast = x\nreturn x", ["StateWrite global: last"]),
}


@pytest.mark.parametrize(("body", "expected"), BODIES.values(), ids=BODIES.keys())
def test_found_in_forward(body: str, expected: list[str]) -> None:
    assert [line.replace('"', "'") for line in told(forward(body))] == expected


HELPER = """
def gate(x):
    return x if x.sum() > 0 else -x
"""
GATE = """
class Gate(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x
"""
SCORE = """
class Score(nn.Module):
    def forward(self, x):
        return x.sum()
"""
REACHED = {
    "a helper": HELPER + "class M(nn.Module):\n    def forward(self, x):\n        return gate(x)\n",
    "functools.partial": HELPER + "class M(nn.Module):\n    def forward(self, x):\n        return partial(gate)(x)\n",
    "functools.partial with a name": HELPER
    + "class M(nn.Module):\n    def forward(self, x):\n        return partial(gate, x=x)()\n",
    "a dict of arguments": HELPER + 'class M(nn.Module):\n    def forward(self, x):\n        return gate(**{"x": x})\n',
    "a tuple of arguments": HELPER + "class M(nn.Module):\n    def forward(self, x):\n        return gate(*(x,))\n",
    "*args and **kwargs": HELPER
    + "def through(*args, **kwargs):\n    return gate(*args, **kwargs)\n"
    + "class M(nn.Module):\n    def forward(self, x):\n        return through(x)\n",
    "*args of forward": HELPER + "class M(nn.Module):\n    def forward(self, *xs):\n        return gate(xs[0])\n",
    "a table of functions": HELPER
    + 'TABLE = {"gate": gate}\n'
    + 'class M(nn.Module):\n    def forward(self, x):\n        return TABLE["gate"](x)\n',
    "a name for it": HELPER + "other = gate\nclass M(nn.Module):\n    def forward(self, x):\n        return other(x)\n",
    "a function kept as an attribute": HELPER
    + """
class M(nn.Module):
    def __init__(self, act=gate):
        super().__init__()
        self.act = act
    def forward(self, x):
        return self.act(x)
""",
    "a lambda kept as an attribute": """
class M(nn.Module):
    def __init__(self, act=lambda x: x if x.sum() > 0 else -x):
        super().__init__()
        self.act = act
    def forward(self, x):
        return self.act(x)
""",
    "an item of nn.Sequential": GATE
    + """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 4), Gate())
    def forward(self, x):
        return self.net(x)
""",
    "a nested class": """
class M(nn.Module):
    class Inner(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x
    def __init__(self):
        super().__init__()
        self.inner = M.Inner()
    def forward(self, x):
        return self.inner(x)
""",
    "a class made in a function": """
def make():
    class Inner(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x
    return Inner()
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = make()
    def forward(self, x):
        return self.inner(x)
""",
    "an object that can be called": """
class Gate:
    def __call__(self, x):
        return x if x.sum() > 0 else -x
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = Gate()
    def forward(self, x):
        return self.gate(x)
""",
    "an object that can be indexed": """
class Items:
    def __init__(self, x):
        self.x = x
    def __getitem__(self, i):
        return self.x if self.x.sum() > 0 else -self.x
class M(nn.Module):
    def forward(self, x):
        return Items(x)[0]
""".replace("self.x.sum", "x.sum").replace("        return self.x if", "        x = self.x\n        return self.x if"),
    "an object that can be looped over": """
class Items:
    def __init__(self, x):
        self.x = x
    def __iter__(self):
        yield self.x
class M(nn.Module):
    def forward(self, y):
        for x in Items(y):
            if x.sum() > 0:
                return x
        return -x
""",
    "the constructor of a plain object": """
class Box:
    def __init__(self, x):
        self.x = x if x.sum() > 0 else -x
class M(nn.Module):
    def forward(self, x):
        return Box(x).x
""",
    "a static method": """
class M(nn.Module):
    @staticmethod
    def gate(x):
        return x if x.sum() > 0 else -x
    def forward(self, x):
        return M.gate(x)
""",
    "a class method": """
class M(nn.Module):
    @classmethod
    def gate(cls, x):
        return x if x.sum() > 0 else -x
    def forward(self, x):
        return self.gate(x)
""",
    "a mixin": """
class Mixin:
    def gate(self, x):
        return x if x.sum() > 0 else -x
class M(Mixin, nn.Module):
    def forward(self, x):
        return self.gate(x)
""",
    "a base's forward": GATE + "class M(Gate):\n    pass\n",
    "super() through a mixin": GATE
    + "class Mixin:\n    def forward(self, x):\n        return super().forward(x)\nclass M(Mixin, Gate):\n    pass\n",
    "super() with arguments": GATE
    + "class M(Gate):\n    def forward(self, x):\n        return super(M, self).forward(x)\n",
    "a base by name": GATE + "class M(Gate):\n    def forward(self, x):\n        return Gate.forward(self, x)\n",
    "a decorated forward": """
import functools
def logged(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        return f(*args, **kwargs)
    return inner
class M(nn.Module):
    @logged
    def forward(self, x):
        return x if x.sum() > 0 else -x
""",
    "a forward under no_grad": """
class M(nn.Module):
    @torch.no_grad()
    def forward(self, x):
        return x if x.sum() > 0 else -x
""",
    "autograd.Function.apply": """
class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x if x.sum() > 0 else -x
class M(nn.Module):
    def forward(self, x):
        return Gate.apply(x)
""",
    "a hook on the model": """
def hook(module, args, x):
    return x if x.sum() > 0 else -x
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_hook(hook)
    def forward(self, x):
        return x
""",
    "a hook on a submodule": """
class Part(nn.Module):
    def forward(self, x):
        return x
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()
        self.part.register_forward_hook(self.hook)
    def hook(self, module, args, x):
        return x if x.sum() > 0 else -x
    def forward(self, x):
        return self.part(x)
""",
    "a hook on a layer of torch": """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.lin.register_forward_hook(self.hook)
    def hook(self, module, args, x):
        return x if x.sum() > 0 else -x
    def forward(self, x):
        return self.lin(x)
""",
    "a pre-hook on a layer of torch": """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.lin.register_forward_pre_hook(self.hook)
    def hook(self, module, args):
        x, = args
        return x if x.sum() > 0 else -x
    def forward(self, x):
        return self.lin(x)
""",
    "recursion": """
class M(nn.Module):
    def go(self, x, n):
        if n == 0:
            return x
        return self.go(x + 1 if x.sum() > 0 else x, n - 1)
    def forward(self, x):
        return self.go(x, 3)
""",
    "mutual recursion": """
def even(x, n):
    return x if n == 0 else odd(x, n - 1)
def odd(x, n):
    return even(x, n - 1) if x.sum() > 0 else x
class M(nn.Module):
    def forward(self, x):
        return even(x, self.n)
""",
    "recursion that grows its argument": """
def go(x, parts):
    return go(x, [parts, x]) if x.sum() > 0 else parts
class M(nn.Module):
    def forward(self, x):
        return go(x, [])
""",
}


@pytest.mark.parametrize("source", REACHED.values(), ids=REACHED.keys())
def test_reached_through(source: str) -> None:
    (line,) = told(source)
    assert line in ("Branch data: x.sum() > 0", "Branch data: x.sum() > 0")


MODULES = {
    "nn.ModuleDict by a key": ('nn.ModuleDict({"a": Score(), "b": nn.Linear(3, 3)})', 'n = self.net["a"](x)'),
    "nn.ModuleDict by an attribute": ('nn.ModuleDict({"a": Score(), "b": nn.Linear(3, 3)})', "n = self.net.a(x)"),
    "the values of an nn.ModuleDict": (
        'nn.ModuleDict({"a": Score()})',
        "for part in self.net.values():\n            n = part(x)",
    ),
    "the items of an nn.ModuleDict": (
        'nn.ModuleDict({"a": Score()})',
        "for _, part in self.net.items():\n            n = part(x)",
    ),
    "an item of an nn.ModuleList": ("nn.ModuleList([Score() for _ in range(size)])", "n = self.net[0](x)"),
    "a loop over an nn.ModuleList": (
        "nn.ModuleList([Score() for _ in range(size)])",
        "for part in self.net:\n            n = part(x)",
    ),
    "a slice of an nn.ModuleList": ("nn.ModuleList([nn.Linear(3, 3), Score()])", "n = self.net[1:][0](x)"),
    "nn.Sequential of a list": ("nn.Sequential(*[Score() for _ in range(size)])", "n = self.net(x)"),
    "nn.Sequential of named parts": (
        'nn.Sequential(__import__("collections").OrderedDict(a=Score()))'.replace(
            '__import__("collections").OrderedDict', "dict"
        ),
        "n = self.net(x)",
    ),
    "getattr by a computed name": ("Score()", 'n = getattr(self, f"ne{self.t}")(x)'),
}


@pytest.mark.parametrize(("build", "use"), MODULES.values(), ids=MODULES.keys())
def test_modules_in(build: str, use: str) -> None:
    source = f"""{SCORE}
class M(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.net = {build}
    def forward(self, x):
        {use}
        return x if n > 0 else -x
"""
    assert told(source) == ["Branch data: n > 0"]


def test_modules_appended_to_a_module_list() -> None:
    source = f"""{SCORE}
class M(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.net = nn.ModuleList()
        for _ in range(size):
            self.net.append(Score())
    def forward(self, x):
        n = self.net[0](x)
        return x if n > 0 else -x
"""
    assert told(source) == ["Branch data: n > 0"]


RECORDS = {
    "a dataclass": """
from dataclasses import dataclass
@dataclass
class Out:
    score: Tensor
    value: Tensor = None
""",
    "a named tuple": """
from typing import NamedTuple
class Out(NamedTuple):
    score: Tensor
    value: Tensor = None
""",
    "an object of its own": """
class Out:
    def __init__(self, score, value=None):
        self.score = score
        self.value = value
""",
}
USES = {
    "by position": "out = Out(x.sum(), x)",
    "by name": "out = Out(score=x.sum(), value=x)",
    "without the rest": "out = Out(x.sum())",
}


@pytest.mark.parametrize("make", USES.values(), ids=USES.keys())
@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS.keys())
def test_a_field_of(record: str, make: str) -> None:
    source = f"""{record}
class M(nn.Module):
    def forward(self, x):
        {make}
        return x if out.score > 0 else x
"""
    assert told(source) == ["Branch data: out.score > 0"]


def test_a_named_tuple_is_unpacked() -> None:
    source = f"""{RECORDS["a named tuple"]}
class M(nn.Module):
    def forward(self, x):
        n, _ = Out(x.sum())
        return x if n > 0 else x
"""
    assert told(source) == ["Branch data: n > 0"]


def test_what_a_recursive_call_gives_is_followed() -> None:
    source = """
class M(nn.Module):
    def go(self, x, n):
        if n == 0:
            return x
        y = self.go(x, n - 1)
        return x if y.sum() > 0 else -x
    def forward(self, x):
        return self.go(x, self.n)
"""
    assert told(source) == ["Branch data: y.sum() > 0"]


def test_a_generator_s_items_are_what_it_yields() -> None:
    source = """
def inner(x):
    yield x.mean()
class M(nn.Module):
    def parts(self, x):
        yield x.sum()
        yield from inner(x)
    def forward(self, x):
        return sum([x if n > 0 else -x for n in self.parts(x)])
"""
    assert told(source) == ["Branch data: n > 0"]


def test_a_property_is_read_like_an_attribute() -> None:
    source = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
    @property
    def limit(self):
        return self.weight.sum()
    def forward(self, x):
        return x if self.limit > 0 else -x
"""
    assert told(source) == ["Branch weight: self.limit > 0"]


def test_a_method_of_the_class_itself_is_called_by_its_base() -> None:
    source = """
class Base(nn.Module):
    def forward(self, x):
        return x if self.score(x) > 0 else -x
    def score(self, x):
        return 0
class M(Base):
    def score(self, x):
        return x.sum()
"""
    assert told(source) == ["Branch data: self.score(x) > 0"]


def test_super_gives_what_the_base_gives() -> None:
    source = SCORE + "class M(Score):\n    def forward(self, x):\n        return x if super().forward(x) > 0 else -x\n"
    assert told(source) == ["Branch data: super().forward(x) > 0"]


def test_a_list_a_tuple_and_a_dict_of_tensors_by_annotation() -> None:
    source = """
from typing import Dict, List, Optional
class M(nn.Module):
    def forward(self, xs: List[Tensor], d: Dict[str, Tensor], m: Optional[Tensor] = None):
        for x in xs:
            if x.sum() > 0:
                return x
        if m is not None and m.any():
            return m
        return d["a"] if d["b"].any() else xs[0]
"""
    assert told(source) == [
        'Branch data: d["b"].any()',
        "Branch data: m is not None and m.any()",
        "Branch data: x.sum() > 0",
    ]


def test_axes_by_jaxtyping() -> None:
    source = """
from jaxtyping import Float
class M(nn.Module):
    def forward(self, x: Float[Tensor, "batch 3 h w"]):
        if x.shape[1] > 3:
            return x
        return -x if x.shape[0] > 3 else x
"""
    assert told(source) == ["Branch dim: x.shape[0] > 3"]


def test_modules_in_a_plain_list_are_hidden() -> None:
    source = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = [nn.Linear(3, 3), nn.Dropout()]
    def forward(self, x):
        return self.net[1](self.net[0](x))
"""
    assert told(source) == ["HiddenModules list: self.net = [nn.Linear(3, 3), nn.Dropout()]"]


def test_an_overridden_eval_that_leaves_a_module_in_train_mode() -> None:
    source = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout()
    def eval(self):
        super().eval()
        self.drop.train()
        return self
    def forward(self, x):
        return self.drop(x)
"""
    assert told(source) == ["ModeSwitch eval: self.drop.train()"]


def branch(source: str) -> Observation:
    """The one branch of a source."""
    (observation,) = facts_of(source)
    assert isinstance(observation, Branch)
    return observation


GUARDS = {
    "not torch.jit.is_tracing()": ("dynamo",),
    "not torch.compiler.is_exporting()": ("torchscript",),
    "not torch.compiler.is_compiling()": ("torchscript",),
    "not torch._dynamo.is_compiling()": ("torchscript",),
    "torch.compiler.is_exporting()": ("dynamo",),
    "torch.jit.is_tracing()": ("torchscript",),
    "torch.onnx.is_in_onnx_export()": ("torchscript", "dynamo"),
    "torch.jit.is_tracing() or torch.compiler.is_exporting()": ("torchscript", "dynamo"),
    "self.flag or not torch.jit.is_tracing()": ("torchscript", "dynamo"),
    "self.flag and not torch.jit.is_tracing()": ("dynamo",),
}


@pytest.mark.parametrize(("guard", "exporters"), GUARDS.items(), ids=GUARDS.keys())
def test_a_guard_leaves_the_branch_to(guard: str, exporters: tuple[str, ...]) -> None:
    body = f"if {guard}:\n    if x.sum() > 0:\n        return x\nreturn -x"
    assert branch(forward(body)).exporters == exporters


@pytest.mark.parametrize(("guard", "exporters"), GUARDS.items(), ids=GUARDS.keys())
def test_a_guard_in_the_condition_itself_leaves_the_branch_to(guard: str, exporters: tuple[str, ...]) -> None:
    assert branch(forward(f"if ({guard}) and x.sum() > 0:\n    return x\nreturn -x")).exporters == exporters


@pytest.mark.parametrize(("guard", "exporters"), GUARDS.items(), ids=GUARDS.keys())
def test_a_guard_that_is_a_variable_leaves_the_branch_to(guard: str, exporters: tuple[str, ...]) -> None:
    body = f"guarded = {guard}\nif guarded:\n    if x.sum() > 0:\n        return x\nreturn -x"
    assert branch(forward(body)).exporters == exporters


def test_a_scripted_function_keeps_its_branches_in_torchscript() -> None:
    source = (
        "@torch.jit.script\n"
        + HELPER.strip()
        + "\nclass M(nn.Module):\n    def forward(self, x):\n        return gate(x)\n"
    )
    assert branch(source).exporters == ("dynamo",)


def test_a_trace_tells_every_step_from_the_input_to_the_branch() -> None:
    source = """
class M(nn.Module):
    def forward(self, x):
        y = x * 2
        total = y.sum()
        if total > 0:
            return x
        return -x
"""
    observation = branch(source)
    assert [step.message for step in observation.trace] == [
        "`x` is an input of `M.forward`",
        "`y` is assigned",
        "`total` is assigned",
    ]
    lines = [step.line for step in observation.trace]
    assert lines == sorted(lines)
    assert observation.span.line == lines[-1] + 1


def test_the_span_is_the_condition_alone() -> None:
    observation = branch(textwrap.dedent(forward("if self.flag and x.sum() > 0: return x\nreturn -x")))
    assert observation.text == "self.flag and x.sum() > 0"
    assert observation.span.end_column - observation.span.column == len(observation.text)
    assert observation.symbol.endswith("M.forward")


LAYERS_OF_LIBRARIES = """
import torch
from {library} import {container}
from somebody.layers import Block


class Net({base}):
    def __init__(self):
        super().__init__()
        self.parts = {container}([Block() for _ in range(2)])

    def forward(self, x):
        {loop}
        assert x.any()
        return x
"""


@pytest.mark.parametrize(
    ("library", "container", "base"),
    [
        ("torch.nn", "ModuleList", "torch.nn.Module"),
        ("mmcv.runner.base_module", "ModuleList", "torch.nn.Module"),
        ("mmengine.model", "ModuleList", "torch.nn.Module"),
        ("somebody", "Parts", "torch.nn.Module"),
    ],
)
@pytest.mark.parametrize(
    "loop",
    [
        "for part in self.parts: x = part(x)",
        "for n, part in enumerate(self.parts): x = part(x)",
        "x = [part(x) for part in reversed(self.parts)][-1]",
    ],
)
def test_what_parts_of_the_model_give_is_a_tensor_though_nobody_knows_them(
    library: str, container: str, base: str, loop: str
) -> None:
    source = LAYERS_OF_LIBRARIES.format(library=library, container=container, base=base, loop=loop)
    assert told(source) == ["Assertion data: x.any()"]
    if loop.startswith("x = "):  # after a loop, what came before it is a tensor all the same
        assert told(source.replace("(self.parts)", "(parts())")) == []


@pytest.mark.parametrize(
    "base", ["mmcv.runner.Sequential", "mmcv.runner.base_module.ModuleList", "mmengine.model.BaseModule"]
)
def test_a_class_of_openmmlab_is_the_one_of_torch_that_it_derives_from(base: str) -> None:
    module, _, name = base.rpartition(".")
    source = f"""
from {module} import {name}

class Net({name}):
    def forward(self, x):
        assert x.any()
        return x
"""
    assert told(source) == ["Assertion data: x.any()"]
