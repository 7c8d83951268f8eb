"""Near misses of the interpreter: Python that a trace keeps, or that no trace comes through, gives no observation."""

from __future__ import annotations

import textwrap

import pytest
from analysing import findings_of, told

MODEL = """\
class M(nn.Module):
    def __init__(self, flag, size=4):
        super().__init__()
        self.flag = flag
        self.size = size
        self.lin = nn.Linear(4, 4)
        self.blocks = nn.ModuleList([nn.Linear(4, 4) for _ in range(size)])
        self.register_buffer("scale", torch.ones(1))
    def forward(self, x{parameters}):
"""


def forward(body: str, parameters: str = "") -> str:
    """A model whose forward has this body and these parameters after `x`."""
    more = f", {parameters}" if parameters else ""
    return MODEL.format(parameters=more) + textwrap.indent(textwrap.dedent(body).strip(), " " * 8) + "\n"


def arms(test: str) -> str:
    """A body that branches on a condition."""
    return f"if {test}:\n    return x + 1\nreturn x"


CONDITIONS = {
    "a flag of the constructor": ("self.flag", ""),
    "an argument annotated bool": ("flag", "flag: bool = False"),
    "an argument with a bool as default": ("flag", "flag=False"),
    "an argument with a string as default": ('mode == "a"', 'mode="a"'),
    "an argument annotated int": ("n > 3", "n: int = 2"),
    "x is None": ("mask is None", "mask=None"),
    "x == None": ("mask == None", "mask=None"),
    "x is not None and a flag": ("mask is not None and self.flag", "mask=None"),
    "not x is None": ("not (mask is None)", "mask=None"),
    "one tensor being the other": ("x is y", "y"),
    "isinstance": ("isinstance(x, (tuple, list))", ""),
    "the type of a value": ("type(x) == tuple", ""),
    "hasattr": ('hasattr(x, "lengths")', ""),
    "the rank by dim()": ("x.dim() == 3", ""),
    "the rank by ndim": ("x.ndim == 3", ""),
    "the rank by the length of the shape": ("len(x.shape) == 3", ""),
    "the dtype": ("x.dtype == torch.float16", ""),
    "whether the dtype is a float": ("not x.is_floating_point() or torch.is_complex(x)", ""),
    "the device": ('x.device.type == "cuda" or x.is_cuda', ""),
    "whether gradients are on": ("x.requires_grad and torch.is_grad_enabled()", ""),
    "the last axis, static by convention": ("x.shape[-1] == 4", ""),
    "the same axis of two tensors being equal": ("x.shape[0] == y.shape[0]", "y"),
    "training mode": ("self.training", ""),
    "training mode before tensor data": ("self.training and x.sum() > 0", ""),
    "the length of a literal list": ("len([x, x]) > 1", ""),
    "a key of a dict of tensors": ('"a" in {"a": x}', ""),
    "a key being absent": ('"b" not in {"a": x}', ""),
    "scripting before tensor data": ("torch.jit.is_scripting() and x.sum() > 0", ""),
    "not exporting in any exporter, before tensor data": (
        "not torch.jit.is_tracing() and not torch.compiler.is_exporting() and x.sum() > 0",
        "",
    ),
    "not in an ONNX export, before tensor data": ("not torch.onnx.is_in_onnx_export() and x.sum() > 0", ""),
}


@pytest.mark.parametrize(("test", "parameters"), CONDITIONS.values(), ids=CONDITIONS.keys())
def test_no_branch_on(test: str, parameters: str) -> None:
    assert told(forward(arms(test), parameters)) == []


@pytest.mark.parametrize(("test", "parameters"), CONDITIONS.values(), ids=CONDITIONS.keys())
def test_no_conditional_expression_on(test: str, parameters: str) -> None:
    assert told(forward(f"return x + 1 if {test} else x", parameters)) == []


BODIES = {
    "a loop over modules": "for block in self.blocks:\n    x = block(x)\nreturn x",
    "a loop over numbered modules": "for i, b in enumerate(self.blocks):\n    if i > 1:\n        x = b(x)\nreturn x",
    "a loop as often as the constructor said": "for i in range(self.size):\n    x = self.blocks[i](x)\nreturn x",
    "a comprehension over modules": "return sum([block(x) for block in self.blocks])",
    "a loop over a list of tensors": "for y in [x, x * 2]:\n    x = x + y\nreturn x",
    "a loop over chunks": "for y in x.chunk(2, dim=-1):\n    x = x + y.sum()\nreturn x",
    "unpacking chunks": "a, b = x.chunk(2, dim=-1)\nreturn a * b",
    "torch.where": "return torch.where(x > 0, x, -x)",
    "tensor logic": "return x * ((x > 0) & (x < 1) | ~(x > 2))",
    "a scripting arm": "if torch.jit.is_scripting():\n    if x.sum() > 0:\n        return x + 1\nreturn x",
    "an arm that no exporter takes": (
        "if not torch.onnx.is_in_onnx_export():\n    assert x.sum() > 0\n    self.last = x\nreturn x"
    ),
    "code past an early return of the export": (
        "if torch.onnx.is_in_onnx_export():\n    return x\nif x.sum() > 0:\n    return x + 1\nreturn x"
    ),
    "an arm that ends a training run": "if self.training:\n    x = x + torch.rand_like(x)\nreturn x",
    "an except arm": "try:\n    y = self.lin(x)\nexcept RuntimeError:\n    y = x\nreturn y",
    "printing because of a size": "if x.shape[1] > 4:\n    print(x.shape)\nreturn x",
    "an item nobody uses": "total = x.sum().item()\nreturn x",
    "an item that is printed": "print(x.sum().item())\nreturn x",
    "an int of a size nobody uses": "n = int(x.shape[0])\nreturn x",
    "a size in an f-string nobody uses": 'text = f"{x.shape[0]}"\nreturn x',
    "view with the size itself": "return x.view(x.shape[0], -1)",
    "view with size(0)": "b = x.size(0)\nreturn x.view(b, -1, 2)",
    "reshape with arithmetic on sizes": "b, t = x.shape[:2]\nreturn x.reshape(b, t // 2, -1)",
    "flatten": "return x.flatten(1)",
    "arange over a size": "return x + torch.arange(x.shape[1], device=x.device)",
    "zeros at a size": "return x + torch.zeros(x.shape[0], 1) + x.new_zeros(x.shape[0], 1)",
    "a slice by the size of another": "return x[:, : x.shape[0]]",
    "a slice by the lesser of two numbers": "return x[:, : min(self.size, 3)]",
    "a buffer": "return x * self.scale",
    "a tensor of a literal": "return x * torch.tensor(3.0)",
    "dropout in training only": "return F.dropout(x, 0.1, self.training)",
    "dropout in training only, by name": "return F.dropout(x, p=0.1, training=self.training)",
    "dropout switched off": "return F.dropout(x, training=False)",
    "squeeze of one axis": "return x.squeeze(-1)",
    "numel as a factor": "return x.numel() * x",
    "interpolate by a factor": "return F.interpolate(x, scale_factor=2)",
    "interpolate to the size of another": "return F.interpolate(x, size=x.shape[-2:])",
    "a function that nobody calls": "def g(y):\n    return y if y.sum() > 0 else -y\nreturn x",
    "a lambda that nobody calls": "g = lambda y: y if y.sum() > 0 else -y\nreturn x",
    "a function by its name": 'return getattr(F, "relu")(x)',
    "a generator for as many names": "a, b = (y.squeeze(0) for y in x)\nreturn a + b",
    "words of a text": "for word in x.split():\n    print(word)\nreturn x",
    "a dict that lives in forward alone": "kept = {}\nkept[0] = x\nreturn x",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_no_fact_of(body: str) -> None:
    assert told(forward(body)) == []


SOURCES = {
    "a helper that no forward reaches": """
        def helper(x):
            return x if x.sum() > 0 else -x
        class M(nn.Module):
            def forward(self, x):
                return x
    """,
    "a method that forward does not call": """
        class M(nn.Module):
            def forward(self, x):
                return x
            def loss(self, x):
                return x if x.sum() > 0 else -x
    """,
    "the forward of a class that is no module": """
        class M:
            def forward(self, x):
                return x if x.sum() > 0 else -x
    """,
    "a constructor that looks at its weights": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.rand(3))
                if self.weight.sum() > 0:
                    self.weight.data.zero_()
                self.count = int(self.weight.sum().item())
            def forward(self, x):
                return x * self.weight
    """,
    "a backward": """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2
            @staticmethod
            def backward(ctx, grad):
                return grad if grad.sum() > 0 else -grad
        class M(nn.Module):
            def forward(self, x):
                return Double.apply(x)
    """,
    "a scripted helper, in TorchScript, as dynamo is not asked": """
        class M(nn.Module):
            def forward(self, x):
                if torch.compiler.is_compiling():
                    return x
                return gate(x)
        @torch.jit.script
        def gate(x):
            if x.sum() > 0:
                return x
            return -x
    """,
    "a mask that each run makes anew, and a helper reads": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.mask = None
            def forward(self, x):
                self.prepare(x)
                return self.attend(x)
            def prepare(self, x):
                self.mask = torch.ones(x.shape[1], x.shape[1]).tril()
            def attend(self, x):
                return self.mask @ x
    """,
    "modules in a list that a container registers too": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = [nn.Linear(3, 3), nn.Linear(3, 3)]
                self.held = nn.ModuleList(self.parts)
            def forward(self, x):
                return self.parts[0](x)
    """,
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_silent_about(source: str) -> None:
    assert told(textwrap.dedent(source)) == []


def test_a_view_of_a_mask_with_an_axis_for_the_batch_and_one_for_the_heads() -> None:
    assert told(forward("n = x.shape[1]\nreturn x + mask.view(1, 1, n, n)", "mask: Tensor")) == []
    image = "return x.view(1, 1, x.shape[2], x.shape[3])"  # no mask has these axes
    assert told(forward(image)) == ["ShapeLiteral view: x.view(1, 1, x.shape[2], x.shape[3])"]


def test_a_reshape_to_no_elements_takes_an_empty_tensor_and_no_batch() -> None:
    assert told(forward("if x.shape[0] == 0:\n    x = x.reshape(0, 8)\nreturn x + 1")) == []


def test_the_shape_of_a_parameter_is_a_constant() -> None:
    norm = """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.zeros(4))
            def forward(self, x: Tensor):
                return F.layer_norm(x, {}.shape[-1:])
        """
    assert findings_of(norm.format("self.w")) == set()
    assert {code for code, _, _ in findings_of(norm.format("x"))} == {"ONX211"}


def test_a_parameter_that_is_only_asked_for_its_truth_is_a_flag() -> None:
    model = """
        class M(nn.Module):
            def forward(self, x: Tensor, inference):
                if not inference:
                    x = x + 1
                return {} if inference and True else x
        """
    assert findings_of(model.format("x * 2")) == set()
    assert {code for code, _, _ in findings_of(model.format("x * inference"))} == {"ONX101"}


def test_what_a_helper_gives_as_a_list_in_a_tuple_in_one_arm_is_a_guess_as_a_tensor() -> None:
    model = """
        class M(nn.Module):
            def __init__(self, scales=0):
                super().__init__()
                self.scales = scales
            def pooled(self, x, y):
                if not self.scales:
                    return x, y
                kept = [x]
                for i in range(self.scales):
                    kept.append(F.avg_pool1d(kept[i], 2))
                return kept, y
            def forward(self, x, y):
                x, y = self.pooled(x, y)
                return sum(part.mean() for part in x) + y
        """
    assert told(textwrap.dedent(model)) == ["Loop tensor: x?"]
