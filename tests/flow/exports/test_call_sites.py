"""Export calls as they are written in scripts: what the rules on them object to, and what they leave alone."""

from __future__ import annotations

import textwrap
from dataclasses import replace

import pytest
from analysing import PRELUDE, facts_of, project_of

from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.records import EXPORTERS, Finding, Outcome, Severity
from onnxlint.rules.engine.findings import run_rules

MODELS = """
import collections
import dataclasses
class One(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 3)
    def forward(self, x):
        return self.body(x)
class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
    def forward(self, x, y, scale=None):
        return self.body(x) + y, y
    def one(self, z):
        return self.body(z)
class Three(nn.Module):
    def forward(self, x, mask=None, y=None):
        return x * 2 if y is None else x + y
class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 3)
    def forward(self, x, scale=torch.ones(3)):
        return self.body(x) * scale, x
OPSET = 15
@dataclasses.dataclass
class Names:
    outputs: list = dataclasses.field(default_factory=lambda: ["logits"])
    @property
    def axes(self):
        return collections.OrderedDict([("pixels", {0: "batch"}), ("logits", {0: "batch"})])
class Caster(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 3)
    def forward(self, x):
        return self.body(x.float())
"""


def findings(body: str, before: str = "") -> list[Finding]:
    """The findings of rules on export calls in a function with this body; lines count from its first one."""
    head = PRELUDE + MODELS + before + "def main(path):\n"
    source = head + textwrap.indent(textwrap.dedent(body).strip(), "    ") + "\n"
    found, broken = run_rules(
        facts_of(project_of(source)), load_catalogue(), EXPORTERS, lambda *_: True, lambda _: source
    )
    assert broken == ()
    down = head.count("\n")
    return [replace(f, span=replace(f.span, line=f.span.line - down)) for f in found if f.code.startswith("ONX5")]


def codes(body: str, before: str = "", notes: bool = True) -> set[tuple[str, int]]:
    """The codes of these findings, each with its line."""
    return {(f.code, f.span.line) for f in findings(body, before) if notes or f.severity is not Severity.NOTE}


def call(model: str = "One().eval()", args: str = "(torch.randn(2, 8),)", options: str = "") -> str:
    """An export call; the shapes of one input are dynamic unless the options speak of shapes."""
    shapes = "" if "dynamic_" in options else ", dynamic_shapes=({0: 'b'},)"
    return f"torch.onnx.export({model}, {args}, path{', ' if options else ''}{options}{shapes})"


OLD = "dynamo=False, input_names=['x'], dynamic_axes={'x': {0: 'b'}}"
PAIR = "(torch.randn(2, 8), torch.randn(2, 8))"
NAMED = "input_names=['x', 'y'], output_names=['a', 'b']"
BAD = {
    "an opset that dynamo converts down to": (call(options="opset_version=17"), "ONX506"),
    "an opset that no runtime knows": (call(options="opset_version=30"), "ONX506"),
    "an opset that TorchScript does not know": (call(options=f"{OLD}, opset_version=25"), "ONX506"),
    "an opset before initializers": (call(options=f"{OLD}, opset_version=7"), "ONX506"),
    "a removed argument": (call(options="example_outputs=None"), "ONX507"),
    "options by position": (
        "torch.onnx.export(One().eval(), torch.randn(2, 8), path, True, dynamic_shapes=({0: 'b'},))",
        "ONX507",
    ),
    "a removed function": ("torch.onnx.dynamo_export(One().eval(), torch.randn(2, 8))", "ONX507"),
    "operators of PyTorch in the file": (
        call(options=f"{OLD}, operator_export_type=torch.onnx.OperatorExportTypes.ONNX_ATEN"),
        "ONX508",
    ),
    "verify with TorchScript": (call(options=f"{OLD}, verify=True"), "ONX508"),
    "constant folding off": (call(options="do_constant_folding=False"), "ONX508"),
    "a Dim over one row": (
        call(args="(torch.randn(1, 8),)", options="dynamic_shapes={'x': {0: torch.export.Dim('b')}}"),
        "ONX509",
    ),
    "a Dim over one row, by position": (
        call(args="torch.randn(1, 8)", options="dynamic_shapes=({0: torch.export.Dim('b', min=1)},)"),
        "ONX509",
    ),
    "AUTO over one row in torch.export": (
        "torch.export.export(One().eval(), (torch.randn(1, 8),), dynamic_shapes={'x': {0: torch.export.Dim.AUTO}})",
        "ONX509",
    ),
    "one name twice": (
        call("Two().eval()", PAIR, "input_names=['x', 'x'], dynamic_shapes={'x': {0: 'b'}, 'y': {0: 'b'}}"),
        "ONX512",
    ),
    "one name for input and output": (call(options="input_names=['x'], output_names=['x']"), "ONX512"),
    "a string of names": (call(options="output_names='out'"), "ONX512"),
    "more input names than inputs": (
        call(options="dynamo=False, input_names=['x', 'y'], dynamic_axes={'x': {0: 'b'}}"),
        "ONX512",
    ),
    "more output names than outputs": (call(options=f"{OLD}, output_names=['a', 'b']"), "ONX512"),
    "three names for a pair": (
        call(
            "Two().eval()",
            PAIR,
            "dynamo=False, input_names=['x', 'y'], output_names=['a', 'b', 'c'], dynamic_axes={'x': [0], 'y': [0]}",
        ),
        "ONX512",
    ),
    "names in another order than forward's": (
        call(
            "Two().eval()",
            PAIR,
            "dynamo=False, input_names=['y', 'x'], dynamic_axes={'x': {0: 'b'}, 'y': {0: 'b'}}",
        ),
        "ONX512",
    ),
    "an axis of an output that has no name": (
        call(options="input_names=['x'], dynamic_axes={'x': [0], 'o': [0]}"),
        "ONX502",
    ),
    "a misspelt axis beside outputs without names": (
        call(options="dynamo=False, input_names=['image'], dynamic_axes={'images': [0]}"),
        "ONX502",
    ),
    "the batch of one input of two": (
        call("Two().eval()", PAIR, f"dynamo=False, {NAMED}, dynamic_axes={{'x': [0], 'a': [0]}}"),
        "ONX502",
    ),
    "the batch of one input of two, by shapes": (
        call("Two().eval()", PAIR, "dynamic_shapes={'x': {0: 'b'}, 'y': None}"),
        "ONX502",
    ),
    "a dict with numbers for keys": (
        call(
            "Two().eval()",
            "(torch.randn(2, 8), {0: torch.randn(2, 8)}, 1.0)",
            f"dynamo=False, {NAMED}, dynamic_axes=a()",
        ),
        "ONX504",
    ),
    "a name for None": (
        call(
            "Three().eval()", "(torch.randn(2, 8), None, torch.randn(2, 8))", f"{OLD}".replace("'x']", "'x', 'm', 'y']")
        ),
        "ONX512",
    ),
    "a name for a number, under dynamo": (
        call(
            "Three().eval()",
            "(torch.randn(2, 8), 3, torch.randn(2, 8))",
            "input_names=['x', 'm', 'y'], dynamic_shapes={'x': {0: 'b'}, 'mask': None, 'y': {0: 'b'}}",
        ),
        "ONX512",
    ),
    "a tensor for a default": (call("Scaled().eval()", options=OLD), "ONX517"),
    "an opset by default of an option": (
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('-o', '--opset', default=OPSET)\n"
        "args = parser.parse_args()\n" + call(options="opset_version=args.opset"),
        "ONX506",
    ),
    "an opset by default of an option, handed over": (
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--opset', default=OPSET)\n"
        "args = parser.parse_args()\ndef export(opset=18):\n    "
        + call(options="opset_version=opset")
        + "\nexport(opset=args.opset)",
        "ONX506",
    ),
    "a scripted model": (call("torch.jit.script(One().eval())"), "ONX513"),
    "a traced model": (call("torch.jit.trace(One().eval(), torch.randn(2, 8))"), "ONX513"),
    "a scripted model, copied": (
        "import copy\nm = torch.jit.script(One().eval())\n" + call("copy.deepcopy(m).cpu()"),
        "ONX513",
    ),
    "a model scripted by default": (
        "def export(m, jit=True):\n    if jit:\n        m = torch.jit.script(m)\n    " + call("m") + "\nexport(load())",
        "ONX513",
    ),
    "a scripted part": (
        "m = One().eval()\nm.body = torch.jit.script(m.inner)\n" + call("m.body"),
        "ONX513",
    ),
    "a scripted model from a file": (call("torch.jit.load('m.pt').eval()"), "ONX513"),
    "a compiled model": (call("torch.compile(One().eval())"), "ONX513"),
    "a compiled model in TorchScript": (call("torch.compile(One().eval())", options=OLD), "ONX513"),
    "a model that a function of the project compiled": (
        "def prepared():\n    model = One()\n    model = torch.compile(model, dynamic=True)\n    return model\n"
        "model = prepared()\nmodel.eval()\n" + call("model", options=OLD),
        "ONX513",
    ),
    "axes by another name, with names from a record": (
        call(options="dynamo=False, input_names=['x'], output_names=Names().outputs, dynamic_axes=Names().axes"),
        "ONX502",
    ),
    "a parallel model": (call("nn.DataParallel(One()).eval()"), "ONX514"),
    "a double example": (call(args="(torch.from_numpy(np.random.rand(2, 8)),)"), "ONX515"),
    "a double example by tensor()": (call(args="(torch.tensor(np.zeros((2, 8))),)"), "ONX515"),
    "a half model": (call("One().half().eval()"), "ONX515"),
    "a model in bfloat16": (call("One().eval().to(torch.bfloat16)", "(torch.randn(2, 8).bfloat16(),)"), "ONX515"),
    "an entry too few": (call("Two().eval()", PAIR, "dynamic_shapes=({0: 'b'},)"), "ONX516"),
    "an input without an entry": (call("Two().eval()", PAIR, "dynamic_shapes={'x': {0: 'b'}}"), "ONX516"),
    "an input that is not given": (
        call("Two().eval()", PAIR, "dynamic_shapes={'x': {0: 'b'}, 'y': {0: 'b'}, 'scale': None}"),
        "ONX516",
    ),
    "an axis that is not there": (call(options="dynamic_shapes={'x': {2: 'b'}}"), "ONX516"),
    "an axis from the end": (call(options="dynamic_shapes={'x': {-2: 'b'}}"), "ONX516"),
    "an example outside of the range": (
        call(options="dynamic_shapes={'x': {0: torch.export.Dim('b', min=4)}}"),
        "ONX516",
    ),
    "shapes for TorchScript": (call(options="dynamo=False, dynamic_shapes={'x': {0: 'b'}}"), "ONX516"),
    "axes without names": (call(options="dynamo=False, dynamic_axes={'x': {0: 'b'}}"), "ONX516"),
    "axes from the end": (
        call(options="dynamo=False, input_names=['x'], dynamic_axes={'x': {-2: 'b'}}"),
        "ONX516",
    ),
    "a string in torch.export": (
        "torch.export.export(One().eval(), (torch.randn(2, 8),), dynamic_shapes={'x': {0: 'b'}})",
        "ONX516",
    ),
    "an input too many": (call(args=PAIR, options="dynamic_shapes=({0: 'b'}, {0: 'b'})"), "ONX517"),
    "an input too few": (call("Two().eval()"), "ONX517"),
    "a keyword that forward lacks": (
        call(options="kwargs={'z': torch.randn(2, 8)}, dynamic_shapes={'x': {0: 'b'}, 'z': {0: 'b'}}"),
        "ONX517",
    ),
    "an input too many for the method in the place of forward": (
        "m = Two().eval()\nm.forward = m.one\n" + call("m", PAIR, "dynamic_shapes=({0: 'b'}, {0: 'b'})"),
        "ONX517",
    ),
    "a list of inputs": (call(args="[torch.randn(2, 8)]"), "ONX517"),
    "a file without weights": (call(options="export_params=False"), "ONX518"),
}


@pytest.mark.parametrize(("body", "code"), BAD.values(), ids=BAD.keys())
def test_an_objection_to(body: str, code: str) -> None:
    assert code in {c for c, _ in codes(body)}


GOOD = {
    "an array with its dtype by position": call(args="(torch.from_numpy(np.zeros((2, 8), np.float32)),)"),
    "shapes by name": call(options="dynamic_shapes={'x': {0: 'b'}}"),
    "shapes by Dim": call(options="dynamic_shapes={'x': {0: torch.export.Dim('b')}}"),
    "axes for TorchScript": call(options=OLD),
    "one row and a string": call(args="(torch.randn(1, 8),)", options="dynamic_shapes={'x': {0: 'b'}}"),
    "one row and a fixed axis": call(
        args="(torch.randn(1, 8),)", options="dynamic_shapes={'x': {1: torch.export.Dim('w')}}"
    ),
    "constant folding on": call(options="do_constant_folding=True"),
    "the default kind of operators": call(options=f"{OLD}, operator_export_type=torch.onnx.OperatorExportTypes.ONNX"),
    "an old opset of TorchScript": call(options=f"{OLD}, opset_version=11"),
    "a new opset of dynamo": call(options="opset_version=20"),
    "axes that a caller may give": "def export(model, axes=None):\n    torch.onnx.export(model, torch.randn(2, 8),"
    " path, dynamo=False, input_names=['x'], dynamic_axes=axes)\nexport(One().eval(), {'x': [0]})",
    "an argument for an older version": "if torch.__version__ < '1.10':\n    " + call(options="example_outputs=None"),
    "inputs by name, one or the other": "given = {'x': torch.randn(2, 8), 'y': torch.randn(2, 8)}\nif path:\n"
    "    given = {'x': torch.randn(2, 8), 'y': torch.randn(2, 8), 'scale': torch.randn(2, 8)}\n"
    + call("Two().eval()", "()", "kwargs=given, dynamic_shapes={'x': {0: 'b'}, 'y': {0: 'b'}}"),
    "a compiled model, unwrapped": "model = torch.compile(One().eval())\n" + call("model._orig_mod", options=OLD),
    "a model that is compiled on request": "model = One().eval()\nif path:\n    model = torch.compile(model)\n"
    + call("model", options=OLD),
    "axes by the names of a record": call(
        options="dynamo=False, input_names=['pixels'], output_names=Names().outputs, dynamic_axes=Names().axes"
    ),
    "names of one's own in any order": call(
        "Two().eval()", PAIR, "dynamo=False, input_names=['b', 'a'], dynamic_axes={'a': {0: 'b'}, 'b': {0: 'b'}}"
    ),
    "names of some of forward's parameters": call(
        "Two().eval()",
        PAIR,
        "dynamo=False, input_names=['x', 'scale'], dynamic_axes={'x': {0: 'b'}, 'scale': {0: 'b'}}",
    ),
    "names that fit": call(options=f"{OLD}, output_names=['y']"),
    "fewer names than inputs": call("Two().eval()", PAIR, "input_names=['x'], dynamic_shapes=({0: 'b'}, {0: 'b'})"),
    "names for a pair of outputs": call(
        "Two().eval()", PAIR, "output_names=['a', 'b'], dynamic_shapes=({0: 'b'}, {0: 'b'})"
    ),
    "inputs by name": call(
        "Two().eval()",
        "()",
        "kwargs={'x': torch.randn(2, 8), 'y': torch.randn(2, 8)}, dynamic_shapes={'x': {0: 'b'}, 'y': {0: 'b'}}",
    ),
    "the last input by name": call(
        "Two().eval()",
        "(torch.randn(2, 8),)",
        "kwargs={'y': torch.randn(2, 8)}, dynamic_shapes={'x': {0: 'b'}, 'y': {0: 'b'}}",
    ),
    "a scripted model in TorchScript": call("torch.jit.script(One().eval())", options=OLD),
    "a model that is scripted on request": "m = load()\nif path:\n    m = torch.jit.script(m)\n" + call("m"),
    "a model that a caller keeps from being scripted": "def export(m, jit=True):\n    if jit:\n"
    "        m = torch.jit.script(m)\n    " + call("m") + "\nexport(load(), jit=False)",
    "a closure in the place of forward": "m = Two().eval()\ndef infer(x):\n    return m(x, x)\nm.forward = infer\n"
    + call("m"),
    "a method in the place of forward": "m = Two().eval()\nm.forward = m.one\n"
    + call("m", options="dynamic_shapes={'z': {0: 'b'}}"),
    "outputs without names for TorchScript": call(
        options="dynamo=False, input_names=['x'], dynamic_axes={'x': [0], 'o': [0]}"
    ),
    "a row that every one of a batch is given": call(
        "Two().eval()", "(torch.randn(4, 8), torch.randn(1, 8))", "dynamic_shapes={'x': {0: 'b'}, 'y': None}"
    ),
    "a number for TorchScript, by name": call(
        "Three().eval()",
        "(torch.randn(2, 8), 3, torch.randn(2, 8))",
        "dynamo=False, input_names=['x', 'm', 'y'], dynamic_axes={'x': [0], 'y': [0]}",
    ),
    "names for what is no None": call(
        "Three().eval()",
        "(torch.randn(2, 8), None, torch.randn(2, 8))",
        "dynamo=False, input_names=['x', 'y'], dynamic_axes={'x': [0], 'y': [0]}",
    ),
    "None at the end": call(
        "Three().eval()",
        "(torch.randn(2, 8), None)",
        "dynamo=False, input_names=['x', 'm'], dynamic_axes={'x': [0]}",
    ),
    "a tensor for a default, given": call(
        "Scaled().eval()", PAIR, f"dynamo=False, {NAMED}, dynamic_axes={{'x': [0], 'y': [0]}}"
    ),
    "a tensor for a default under dynamo": call("Scaled().eval()"),
    "an opset by an option without a default": "import argparse\nparser = argparse.ArgumentParser()\n"
    "parser.add_argument('--opset', type=int)\nargs = parser.parse_args()\n" + call(options="opset_version=args.opset"),
    "a parallel model unwrapped": "m = nn.DataParallel(One()).eval()\n" + call("m.module"),
    "a compiled model beside": "m = One().eval()\nfast = torch.compile(m)\n" + call("m"),
    "half on both sides": call("One().half().eval()", "(torch.randn(2, 8).half(),)"),
    "half by a statement": "m = One().eval()\nm.half()\nx = torch.randn(2, 8, dtype=torch.float16)\n"
    + call("m", "(x,)"),
    "an example in single precision": call(args="(torch.from_numpy(np.random.rand(2, 8)).float(),)"),
    "an example in single precision by numpy": call(
        args="(torch.from_numpy(np.random.rand(2, 8).astype(np.float32)),)"
    ),
    "a model that casts its input": call("Caster().eval()", "(torch.from_numpy(np.random.rand(2, 8)),)"),
    "inputs of which nothing is known": call("Two().eval()", "batch()", "dynamic_shapes=shapes()"),
    "a model of which nothing is known": call("load()", "(torch.randn(1, 8), torch.randn(2, 8))", "dynamic_shapes=s()"),
    "two tensors of one kind": "x = torch.randn(2, 8)\n"
    + call("Two().eval()", "(x, x.clone())", "dynamic_shapes=({0: 'b'}, {0: 'b'})"),
    "one Dim for axes that are equal": "b = torch.export.Dim('b')\n"
    + call("Two().eval()", PAIR, "dynamic_shapes={'x': {0: b}, 'y': {0: b}}"),
    "axes for dynamo in forward's order": call("Two().eval()", PAIR, f"{NAMED}, dynamic_axes={{'x': [0], 'y': [0]}}"),
    "axes for dynamo, of one kind in any order": call(
        "Two().eval()", PAIR, f"{NAMED}, dynamic_axes={{'y': {{0: 'b'}}, 'a': [0], 'x': {{0: 'b'}}}}"
    ),
    "axes for dynamo, the last input not listed": call(
        "Two().eval()", PAIR, f"{NAMED}, dynamic_axes={{'x': [1], 'a': [0]}}"
    ),
    "axes for dynamo under parameters' names": call(
        "Two().eval()", PAIR, "dynamic_axes={'x': [0], 'y': [0]}, output_names=['a', 'b']"
    ),
    "axes for dynamo that a function makes, of a pair": "axes = dict.fromkeys(['x', 'y'], {0: 'b'})\n"
    + call("Two().eval()", PAIR, f"{NAMED}, dynamic_axes=None"),
    "no axes, in so many words": call(options="dynamic_axes=None"),
    "an exported program": "p = torch.export.export(One().eval(), (torch.randn(2, 8),),"
    " dynamic_shapes=({0: torch.export.Dim('b')},))\ntorch.onnx.export(p, (), path)",
}


@pytest.mark.parametrize("body", GOOD.values(), ids=GOOD.keys())
def test_no_objection_to(body: str) -> None:
    assert codes(body) == set()


PLACED = {
    "an input before the listed one": (f"{NAMED}, dynamic_axes={{'y': {{1: 'n'}}}}", "`y` is applied to `x`"),
    "another order": (
        f"{NAMED}, dynamic_axes={{'y': {{1: 'n'}}, 'x': {{0: 'b'}}}}",
        "`y` is applied to `x`",
    ),
    "an input that has no name": (
        "input_names=['x'], output_names=['a', 'b'], dynamic_axes={'x': {0: 'b'}}",
        "there are 1 for 2 inputs, and the call raises",
    ),
    "an axis that the other input lacks": (
        f"{NAMED}, dynamic_axes={{'y': {{2: 'n'}}}}",
        "`y` is applied to an input with 2 axes, and the call raises",
    ),
}


@pytest.mark.parametrize(("options", "message"), PLACED.values(), ids=PLACED.keys())
def test_dynamo_applies_axes_by_position(options: str, message: str) -> None:
    (finding,) = [f for f in findings(call("Two().eval()", PAIR, options)) if f.code == "ONX503"]
    assert finding.message.endswith(f"by position: {message}")


VIEWS = """
import copy
class Views(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(8, 3), nn.Linear(8, 3)
    def encode(self, x):
        return self.one(x), x
    def decode(self, x, y):
        return self.two(x + y)
    def as_encoder(self):
        model = copy.deepcopy(self)
        model.forward = model.encode
        return model
    def as_decoder(self):
        model = copy.deepcopy(self)
        model.forward = model.decode
        return model
"""


def test_each_copy_that_a_model_makes_of_itself_has_a_forward_of_its_own() -> None:
    encoder = call("m.as_encoder()", options=f"{OLD}, output_names=['a', 'b']")
    decoder = call(
        "m.as_decoder()", PAIR, f"dynamo=False, {NAMED.partition(', out')[0]}, dynamic_axes={{'x': [0], 'y': [0]}}"
    )
    assert codes(f"m = Views().eval()\n{encoder}\n{decoder}\n{encoder}", VIEWS) == set()
    assert codes(f"m = Views().eval()\n{decoder}\n{encoder.replace('encoder', 'decoder')}", VIEWS) == {
        ("ONX517", 3),
        ("ONX512", 3),
    }


BY_NAME = "input_names=['x', 'y'], output_names=['o'], dynamic_axes={'x': [0], 'y': [0]}"


@pytest.mark.parametrize("args", ["({'x': torch.randn(2, 8), 'y': torch.randn(2, 8)},)", "(torch.randn(2, 8),)"])
def test_an_input_by_name_takes_the_place_of_one_that_is_left_out(args: str) -> None:
    options = BY_NAME if "{" in args else f"kwargs={{'y': torch.randn(2, 8)}}, {BY_NAME}"
    (finding,) = findings(call("Three().eval()", args, options))
    assert (finding.code, finding.effects["dynamo"]) == ("ONX503", Outcome.WRONG_VALUES)
    assert finding.message.endswith("by position: `y` is passed as `mask`")
    assert codes(call("Three().eval()", args, f"{options}, dynamo=False")) == set()
    assert codes(call("Two().eval()", args, options.replace("'o'", "'o', 'p'"))) == set()


def test_axes_on_what_is_no_tensor_and_on_a_scripted_model() -> None:
    none = "(torch.randn(2, 8), None, torch.randn(2, 8))"
    named = "input_names=['x', 'y', 'scale'], dynamic_axes={'x': [0], 'scale': [0]}"
    assert ("ONX503", 1) in codes(call("Two().eval()", none, named))
    assert ("ONX503", 1) in codes(call("Two().eval()", none.replace("None", "2"), named))
    scripted = codes(call("torch.jit.script(One().eval())", options="input_names=['x'], dynamic_axes={'x': [0]}"))
    assert scripted == {("ONX503", 1), ("ONX513", 1)}


ARMS = """
if {}:
    torch.onnx.export(One().eval(), torch.randn(2, 8), path, dynamic_shapes={{'x': {{0: 'b'}}}})
else:
    torch.onnx.export(One().eval(), torch.randn(2, 8), path)
"""


@pytest.mark.parametrize("asked", ["batch_size is None", "args.dynamic", "not args.static_shape"])
def test_a_call_that_fixes_sizes_on_request_beside_one_with_dynamic_axes(asked: str) -> None:
    assert codes(ARMS.format(asked)) == set()


def test_a_call_that_lacks_axes_in_another_choice_or_beside_no_other_call() -> None:
    assert codes(ARMS.format("args.simplify")) == {("ONX501", 4)}
    fixed = ARMS.format("args.dynamic").replace(", dynamic_shapes={'x': {0: 'b'}}", "")
    assert codes(fixed) == {("ONX501", 2), ("ONX501", 4)}


def test_axes_of_which_something_is_unknown_are_a_note() -> None:
    body = call("Two().eval()", PAIR, f"{NAMED}, dynamic_axes=axes(path)")
    either = "axes = {'y': [0]}\nif path:\n    axes.update({'x': [0]})\n" + body.replace("axes(path)", "axes")
    for source in (body, either):
        assert codes(source, notes=False) == set()
        assert {code for code, _ in codes(source)} == {"ONX503"}


def test_names_and_axes_that_grow_and_shrink_before_the_call() -> None:
    axes = "axes = {'y': [1], 'z': [1], 'w': [0]}\naxes.pop('z')\naxes.update(x=[0])\ndel axes['w']\n"
    names = "names = list({'x': 1, 'q': 2, 'y': 3})\nnames.remove('q')\n"
    body = axes + names + call("Two().eval()", PAIR, "input_names=names, output_names=['a', 'b'], dynamic_axes=axes")
    (finding,) = [f for f in findings(body) if f.code == "ONX503"]
    assert finding.message.endswith("`y` is applied to `x`")


def test_what_follows_a_call_that_raises_is_a_note_below_it() -> None:
    body = "torch.onnx.export(One().eval(), torch.randn(2, 8), path, opset_version=13, fallback=True)"
    assert codes(body, notes=False) == {("ONX507", 1)}
    assert codes(body) == {("ONX507", 1), ("ONX501", 1), ("ONX506", 1)}


@pytest.mark.parametrize(("toolkit", "told"), [("mmcv.onnx", False), ("mmcv.ops", True)])
def test_a_script_of_a_toolkit_older_than_dynamo_is_held_to_no_exporter(toolkit: str, told: bool) -> None:
    found = codes(call(options="opset_version=11"), f"from {toolkit} import register_extra_symbolics\n")
    assert any(code == "ONX506" for code, _ in found) is told


@pytest.mark.parametrize("spelling", ["torch.onnx._export", "torch.onnx.utils._export"])
def test_a_removed_spelling_is_the_call_that_it_was_meant_to_be(spelling: str) -> None:
    findings = codes(f"{spelling}(One().eval(), torch.randn(2, 8), path, opset_version=11)", notes=False)
    removed = {("ONX507", 1), ("ONX506", 1)} if spelling == "torch.onnx._export" else set()
    assert findings == {("ONX501", 1), *removed}


def test_the_inputs_of_dynamo_export_stand_behind_the_model() -> None:
    body = "torch.onnx.dynamo_export(Two().eval(), torch.randn(2, 8)"
    assert codes(f"{body}, torch.randn(2, 8))") == {("ONX507", 1), ("ONX501", 1)}
    assert codes(f"{body})") == {("ONX507", 1), ("ONX501", 1), ("ONX517", 1)}
    assert codes(f"{body}, torch.randn(2, 8), export_options=options)") == {("ONX507", 1)}


def test_one_tensor_for_two_inputs_in_the_dynamo_exporter_alone() -> None:
    body = "x = torch.randn(2, 8)\n"
    shapes = "dynamic_shapes=({0: 'b'}, {0: 'b'})"
    axes = "dynamo=False, input_names=['x', 'y'], dynamic_axes={'x': {0: 'b'}, 'y': {0: 'b'}}"
    assert codes(body + call("Two().eval()", "(x, x)", shapes)) == {("ONX519", 2)}
    assert codes(body + call("Two().eval()", "(x, x)", axes)) == set()


def test_one_dim_for_axes_that_differ() -> None:
    body = "n = torch.export.Dim('n')\n"
    options = "dynamic_shapes={'x': {0: n}, 'y': {0: n}}"
    assert codes(body + call("Two().eval()", "(torch.randn(2, 8), torch.randn(3, 8))", options)) == {("ONX516", 2)}


AFTER = {
    "in the same block": ("m.load_state_dict(state)", {("ONX511", 3)}),
    "by a helper": ("load_weights(m, 'w.pt')", {("ONX511", 3)}),
    "in an arm that follows": ("if path:\n    m.load_state_dict(state)", {("ONX511", 4)}),
    "of another model": ("other.load_state_dict(state)", set()),
    "of a new model of that name": ("m = One()\nm.load_state_dict(state)", set()),
    "for the next file": ("m.load_state_dict(state)\n" + call("m"), set()),
    "of an optimizer": ("load_state(optimizer)", set()),
}


@pytest.mark.parametrize(("rest", "expected"), AFTER.values(), ids=AFTER.keys())
def test_weights_loaded_after_the_export(rest: str, expected: set[tuple[str, int]]) -> None:
    assert codes("m = One().eval()\n" + call("m") + "\n" + rest) == expected


def test_weights_loaded_in_the_other_arm_or_before() -> None:
    arms = f"m = One().eval()\nif path:\n    {call('m')}\nelse:\n    m.load_state_dict(state)"
    loop = f"m = One().eval()\nfor state in states:\n    m.load_state_dict(state)\n    {call('m')}"
    left = f"m = One().eval()\nif path:\n    {call('m')}\n    return\nm.load_state_dict(state)"
    assert codes(arms) == codes(loop) == codes(left) == set()


def test_bfloat16_by_autocast_on_the_cpu_alone() -> None:
    assert codes(f"with torch.autocast('cpu'):\n    {call()}") == {("ONX515", 2)}
    assert codes(f"with torch.autocast('cuda'):\n    {call()}") == set()
    assert codes(f"with torch.autocast('cpu', dtype=torch.float16):\n    {call()}") == set()


LIGHTNING = """
import lightning
class Lit(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 3)
    def forward(self, x):
        return self.body(x)
"""


def test_the_export_method_of_a_lightning_module() -> None:
    assert codes("Lit().to_onnx(path, torch.randn(2, 8))", LIGHTNING) == {("ONX501", 1)}
    assert codes("Lit().to_onnx(path, torch.randn(2, 8), dynamic_shapes=({0: 'b'},))", LIGHTNING) == set()
    assert codes("Lit().to_onnx(path, torch.randn(2, 8), export_params=False, dynamic_shapes=({0: 'b'},))", LIGHTNING)
    assert codes("One().to_onnx(path, torch.randn(2, 8))") == set()


def test_an_exporter_imported_by_name() -> None:
    source = "from torch.onnx import export\nexport(One().eval(), torch.randn(2, 8), path)"
    assert codes(source) == {("ONX501", 2)}


WARPING = """
def warp(x, grid):
    return F.grid_sample(x, grid)
class Warp(nn.Module):
    def __init__(self, old=False):
        super().__init__()
        self.old = old
    def forward(self, x, grid):
        if self.old:
            return x.flip(-1)
        x = x.tril()
        return warp(x, grid)
"""
WARPED = "(torch.randn(2, 3, 6, 8), torch.rand(2, 4, 4, 2))"


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (f"{OLD}, opset_version=11", {("ONX520", 1)}),
        (f"{OLD}, opset_version=15", {("ONX520", 1)}),
        (f"{OLD}, opset_version=16", set()),
        (OLD, set()),
        ("opset_version=11, dynamic_shapes=({0: 'b'}, {0: 'b'})", {("ONX506", 1)}),
        (f"{OLD.replace('False', 'path.new')}, opset_version=11", set()),
    ],
)
def test_an_opset_is_held_against_the_operators_that_the_exported_model_comes_to(
    options: str, found: set[tuple[str, int]]
) -> None:
    assert codes(call("Warp().eval()", WARPED, options), WARPING) == found


def test_an_arm_that_the_exported_model_does_not_take_needs_no_opset() -> None:
    assert codes(call("Warp(True).eval()", WARPED, f"{OLD}, opset_version=11"), WARPING) == set()


def test_the_newest_operator_is_named_with_its_place() -> None:
    head = PRELUDE + MODELS + WARPING
    source = f"{head}{call('Warp().eval()', WARPED, f'{OLD}, opset_version=11')}"
    found, _ = run_rules(facts_of(project_of(source)), load_catalogue(), EXPORTERS, lambda *_: True, lambda _: source)
    (message,) = [f.message for f in found if f.code == "ONX520"]
    line = head[: head.index("F.grid_sample")].count("\n") + 1
    assert "grid_sample` (" in message
    assert f":{line}, and 1 more) from opset 16 on" in message


@pytest.mark.parametrize(
    ("sizes", "told"), [("2, 8", True), ("1, 3, 32, 32", False), ("4, 3, 32, 32", True), ("1, 100, 8", True)]
)
def test_one_image_of_one_size_is_a_note(sizes: str, told: bool) -> None:
    body = f"torch.onnx.export(One().eval(), torch.randn({sizes}), path)"
    assert ("ONX501", 1) in codes(body)
    assert (("ONX501", 1) in codes(body, notes=False)) is told


def test_axes_that_are_commented_out_are_not_wanted() -> None:
    body = "torch.onnx.export(\n    One().eval(),\n    torch.randn(2, 8),\n    path,\n    # dynamic_axes={'x': [0]},\n)"
    assert codes(body) == set()


def test_a_dict_in_the_place_of_the_inputs_is_nothing_for_dynamo() -> None:
    """Measured with torch 2.13: `KeyError: -1`; TorchScript takes it for keyword arguments."""
    body = (
        "torch.onnx.export(Two().eval(), {{'x': torch.randn(2, 8), 'y': torch.randn(2, 8)}}, path, dynamic_axes={{}}{})"
    )
    assert ("ONX504", 1) in codes(body.format(""))
    assert ("ONX504", 1) not in codes(body.format(", dynamo=False"))


@pytest.mark.parametrize(("turned", "told"), [("", False), ("\ndef other():\n    run(write=True)\n", True)])
def test_a_call_behind_a_flag_that_nothing_turns_on_beside_one_that_runs(turned: str, told: bool) -> None:
    behind = "torch.onnx.export(One().eval(), torch.randn(2, 8), 'b', opset_version=11)"
    before = f"def run(write=False):\n    if write:\n        {behind}\n{turned}"
    found = codes(call(), before, notes=False)
    assert any(code == "ONX506" for code, _ in found) is told


def test_a_call_for_a_torch_that_does_not_know_dynamo() -> None:
    new = "torch.onnx.export(One().eval(), (torch.randn(2, 8),), path, dynamo=False, opset_version=11, dynamic_axes={})"
    old = new.replace("dynamo=False, ", "")
    assert codes(f"try:\n    {new}\nexcept TypeError:\n    {old}", notes=False) == set()
    assert codes(f"try:\n    {new}\nexcept ValueError:\n    {old}", notes=False) == {("ONX506", 4), ("ONX503", 4)}


SIZED = """
class Sized(nn.Module):
    def forward(self, x):
        if x.shape[0] > 4:
            x = x + 1
        if x.shape[2] > 4:
            x = x + 1
        return x
"""


@pytest.mark.parametrize(
    ("example", "options", "told"),
    [
        ("torch.randn(1, 3, size, size)", "dynamic_axes={'x': {0: 'b'}}", {1}),
        ("torch.randn(1, 3, size, size)", "dynamic_axes={'x': {2: 'h'}}", {2}),
        ("load(path)", "dynamic_axes={'x': {0: 'b'}}", {1}),
        ("torch.randn(1, 3, size, size)", "verbose=False", set()),
        ("torch.randn(1, 3, 32, 32)", "verbose=False", set()),
        ("torch.randn(2, 3, 8)", "verbose=False", {1}),
    ],
)
def test_the_sizes_that_a_call_leaves_open_are_those_that_matter(example: str, options: str, told: set[int]) -> None:
    """An axis that it does not name is static, also where its size is not known; all are where one size is wanted."""
    call_ = f"torch.onnx.export(Sized().eval(), {example}, path, input_names=['x'], dynamo=False, {options})"
    source = f"{PRELUDE}{SIZED}\ndef main(path, size):\n    {call_}\n"
    found, _ = run_rules(facts_of(project_of(source)), load_catalogue(), EXPORTERS, lambda *_: True, lambda _: source)
    lines = source.splitlines()
    shown = [lines[f.span.line - 1] for f in found if f.code == "ONX106" and f.severity is not Severity.NOTE]
    assert {1 if "shape[0]" in line else 2 for line in shown} == told
