"""What Python calls without a call: operators and contexts of objects, `__getattr__`, decorators, named tuples."""

from __future__ import annotations

import ast

import pytest
from analysing import PRELUDE, project_of, told

from onnxlint.flow.python.implicit_calls import layer_base, named_tuple
from onnxlint.flow.state.budget import DECORATING

FOUND = ["Branch data: x.sum() > 0"]
CASES = {
    "an operator of an object": """
        class Scale:
            def __mul__(self, x):
                return x if x.sum() > 0 else -x
        class M(nn.Module):
            def forward(self, x: Tensor):
                return Scale() * x
    """,
    "a context": """
        class Scope:
            def __init__(self, x):
                self.x = x
            def __enter__(self):
                x = self.x
                return x if x.sum() > 0 else -x
            def __exit__(self, *error):
                pass
        class M(nn.Module):
            def forward(self, x: Tensor):
                with Scope(x) as y:
                    return y * 2
    """,
    "the end of a context": """
        class Scope:
            def __init__(self, x):
                self.x = x
            def __enter__(self):
                return self
            def __exit__(self, *error):
                x = self.x
                self.y = x if x.sum() > 0 else -x
        class M(nn.Module):
            def forward(self, x: Tensor):
                with Scope(x):
                    y = x * 2
                return y
    """,
    "a decorator of the project": """
        def checked(f):
            def wrapper(self, x):
                if x.sum() > 0:
                    x = -x
                return f(self, x)
            return wrapper
        class M(nn.Module):
            @checked
            def forward(self, x: Tensor):
                return x * 2
    """,
    "`__getattr__`": """
        class Lazy:
            def __getattr__(self, name):
                return choose
        def choose(x):
            return x if x.sum() > 0 else -x
        class M(nn.Module):
            def forward(self, x: Tensor):
                return Lazy().anything(x)
    """,
}


@pytest.mark.parametrize("source", CASES.values(), ids=CASES)
def test_a_branch_is_seen_in(source: str) -> None:
    assert told(source) == FOUND


@pytest.mark.parametrize(
    ("operation", "seen"),
    [("2 - y", ["Branch data: y.x.sum() > 0"]), ("y - 2", []), ("operator.sub(2, y)", ["Branch data: y.x.sum() > 0"])],
)
def test_the_reflected_operator_is_that_of_the_right_operand(operation: str, seen: list[str]) -> None:
    source = f"""
    import operator
    class Wrapped:
        def __init__(self, x):
            self.x = x
        def __rsub__(y, other):
            return y.x if y.x.sum() > 0 else -y.x
    class M(nn.Module):
        def forward(self, x: Tensor):
            y = Wrapped(x)
            {operation}
            return x
    """
    assert told(source) == seen


@pytest.mark.parametrize(
    ("statement", "fields"),
    [
        ('Out = namedtuple("Out", ["a", "b"])', ["a", "b"]),
        ('Out = collections.namedtuple("Out", "a b")', ["a", "b"]),
        ('Out = namedtuple("Out", "a, b", defaults=(1,))', ["a", "b"]),
        ('Out = namedtuple("Out", names)', None),
        ('Out = tuple("a")', None),
        ('Out = namedtuple("not a name", "a")', None),
    ],
)
def test_the_class_that_a_call_of_namedtuple_makes(statement: str, fields: list[str] | None) -> None:
    (info,) = project_of("import collections\nfrom collections import namedtuple\n").modules.values()
    (node,) = ast.parse(statement).body
    assert isinstance(node, ast.Assign)
    cls = named_tuple(info, node)
    assert (None if cls is None else list(cls.fields)) == fields


def test_the_class_of_torch_nn_that_a_class_derives_from() -> None:
    source = "class A(nn.Linear): pass\nclass B(A): pass\nclass C(nn.Module): pass\n"
    (info,) = project_of(PRELUDE + source).modules.values()
    bases = {name: layer_base(cls) for name, cls in info.classes.items()}
    assert bases == {"A": "torch.nn.Linear", "B": "torch.nn.Linear", "C": None}


def test_a_decorator_that_gave_back_the_function_a_few_times_may_wrap_it_with_other_options() -> None:
    source = """
def scaled(by, on):
    def around(f):
        def inner(self, x):
            y = f(self, x)
            return y if y.sum() > 0 else -y
        return inner if on else f
    return around
"""
    for n in range(7):
        source += f"class M{n}(nn.Module):\n    @scaled({n}, on={n == 6})\n"
        source += f"    def forward(self, x):\n        return x * {n}\n"
    assert told(source) == ["Branch data: y.sum() > 0"]


def test_a_decorator_that_takes_very_long_is_taken_to_give_back_the_function() -> None:
    source = f"""
def described(f):
    text = ""
    {"; ".join(["text += f.__name__"] * DECORATING)}
    def inner(self, x):
        y = f(self, x)
        return y if y.sum() > 0 else -y
    inner.__doc__ = text
    return inner

class M(nn.Module):
    @described
    def forward(self, x):
        return x if x.mean() > 0 else -x
"""
    assert told(source) == ["Branch data: x.mean() > 0"]


_AROUND = """
def around(f):
    def inner(self, x):
        y = f(self, x)
        return y if y.sum() > 0 else -y
    return inner

"""
_MODEL = "class M(nn.Module):\n    @{}\n    def forward(self, x):\n        return x * 2\n"


@pytest.mark.parametrize(
    "decorator",
    [
        "def either(f=None):\n    if f:\n        return around(f)\n    return around\n",
        "def either(f):\n    f = around(f)\n    return f\n",
        "def either(f):\n    if f.__doc__:\n        return f\n    return around(f)\n",
        "def either(f):\n    def given(g):\n        return g\n    return given(around(f))\n",
        "def either(f):\n    return around(f=f)\n",
    ],
)
def test_what_a_decorator_makes_of_a_function_is_run(decorator: str) -> None:
    assert told(_AROUND + decorator + _MODEL.format("either")) == ["Branch data: y.sum() > 0"]
