"""Flags that are off by default: what only they ask for is a note; what an export meets without them is reported."""

from __future__ import annotations

import textwrap

import pytest
from analysing import findings_of, result_of, told

from onnxlint.flow.values.domain import Tensor, Tuple, Value

INNER = """\
class Inner(nn.Module):
    def forward(self, x, counted=False, strict=False):
        if strict:
            return x + x.sum().item()
        return x

"""
SOURCE = """\
def halved(x, strict):
    if strict and x.sum() > 0:
        return x
    return x / 2

class M(nn.Module):
    def __init__(self, p=0.5, ndevices=None):
        super().__init__()
        self.p, self.ndevices = p, int(ndevices)
        self.inner = {inner}
    def forward(self, x: Tensor{parameters}):
"""


def model(body: str, parameters: str) -> str:
    """A model whose forward has this body and these parameters after `x`."""
    held = "inner" in body
    head = SOURCE.format(parameters=f", {parameters}", inner="Inner()" if held else "nn.Identity()")
    return (INNER if held else "") + head + textwrap.indent(textwrap.dedent(body).strip(), " " * 8) + "\n"


READ = "x = x + x.sum().item()"
OFF = {
    "an arm of an if": (f"if flag:\n    {READ}\nreturn x", "flag: bool = False"),
    "an if with more to it": (f"if flag and self.p:\n    {READ}\nreturn x", "flag=False"),
    "what an if reads behind it": ("if flag and x.sum() > 0:\n    x = x * 2\nreturn x", "flag: bool = False"),
    "the other arm of a negation": (f"if not flag:\n    x = x * 2\nelse:\n    {READ}\nreturn x", "flag=False"),
    "what follows a return": (f"if not flag:\n    return x\n{READ}\nreturn x", "flag: bool = False"),
    "an arm of a ternary": ("return x + x.sum().item() if flag else x", "flag: bool = False"),
    "the condition of a ternary": ("return x * 2 if flag and x.sum() > 0 else x", "flag: bool = False"),
    "the right side of an and": ("y = flag and x.sum().item()\nreturn x + y", "flag: bool = False"),
    "a flag that is None": (f"if flag is not None:\n    {READ}\nreturn x", "flag: bool | None = None"),
    "a comparison with True": (f"if flag is True:\n    {READ}\nreturn x", "flag: bool = False"),
    "more than one device": (f"if self.ndevices > 1:\n    {READ}\nreturn x", "flag=False"),
    "a keyword": (f"if flag:\n    {READ}\nreturn x", "*, flag: bool = False"),
    "an inner module that is told": ("return self.inner(x, strict=flag)", "flag: bool = False"),
    "a function that is told": ("return halved(x, flag)", "flag: bool = False"),
    "a number that an arm reads": (
        "n = 2\nif flag:\n    n = int(x.sum())\nreturn x * n + (int(x.max()) if flag else 3)",
        "flag: bool = False",
    ),
    "an assertion": ("assert not flag or x.sum() > 0\nreturn x", "flag: bool = False"),
}
ON = {
    "a flag without a default": (f"if flag:\n    {READ}\nreturn x", "flag: bool"),
    "a flag that is on by default": (f"if flag:\n    {READ}\nreturn x", "flag: bool = True"),
    "the arm without the flag": (f"if flag:\n    x = x * 2\nelse:\n    {READ}\nreturn x", "flag: bool = False"),
    "a negation": (f"if not flag:\n    {READ}\nreturn x", "flag: bool = False"),
    "what follows a return under the flag": (f"if flag:\n    return x\n{READ}\nreturn x", "flag: bool = False"),
    "a number that the arm without the flag reads": (
        "n = int(x.sum())\nif flag:\n    n = 2\nreturn x * n",
        "flag: bool = False",
    ),
    "what follows the arm": (f"if flag:\n    x = x * 2\n{READ}\nreturn x", "flag: bool = False"),
    "what follows the block of a return": (
        f"if self.p:\n    if not flag:\n        return x\n{READ}\nreturn x",
        "flag: bool = False",
    ),
    "the flag or something else": (f"if flag or self.p:\n    {READ}\nreturn x", "flag: bool = False"),
    "a flag that a setting turns on": (
        f"flag = flag if flag is not None else self.p\nif flag:\n    {READ}\nreturn x",
        "flag: bool | None = None",
    ),
    "a flag that is turned on": (f"if self.p:\n    flag = True\nif flag:\n    {READ}\nreturn x", "flag: bool = False"),
    "an inner module whose flag is on": ("return self.inner(x, strict=True)", "flag: bool = False"),
    "an inner module that a setting tells": ("return self.inner(x, strict=self.p)", "flag: bool = False"),
    "a function that is told both ways": ("return halved(x, flag) + halved(x, self.p)", "flag: bool = False"),
    "a number that is given or not": (f"if n is not None:\n    {READ}\nreturn x", "n: int | None = None"),
    "a flag that dynamic sizes need": (
        f"if interpolate_pos_encoding:\n    {READ}\nreturn x",
        "interpolate_pos_encoding: bool = False",
    ),
}


@pytest.mark.parametrize(("body", "parameters"), OFF.values(), ids=OFF.keys())
def test_what_only_a_flag_asks_for_is_not_sure(body: str, parameters: str) -> None:
    found = told(model(body, parameters))
    assert [observation for observation in found if not observation.endswith("?")] == []
    assert findings_of(model(body, parameters)) == set()


@pytest.mark.parametrize(("body", "parameters"), ON.values(), ids=ON.keys())
def test_what_is_done_without_a_flag_is_reported(body: str, parameters: str) -> None:
    assert {code for code, _, _ in findings_of(model(body, parameters))} <= {"ONX101", "ONX401"}
    assert [observation for observation in told(model(body, parameters)) if not observation.endswith("?")] != []


def test_a_module_that_others_build_may_be_told_anything() -> None:
    source = model("for layer in [self.inner]:\n    x = OTHERS[layer](x)\nreturn x", "flag: bool = False")
    assert {(code, line) for code, line, _ in findings_of(source)} == {("ONX401", 4)}


MANY = """\
def rotary(x, width, real=False):
    if real:
        return x.cos() * width, x.sin() * width
    return torch.polar(x, x)

def f(x):
    kinds = [rotary(x, 1), rotary(x, 2), rotary(x, 3, real=True), rotary(x, 4), rotary(x, 5)]
    return rotary(x, 6, real={real})
"""


@pytest.mark.parametrize(("real", "kind"), [("True", Tuple), ("False", Tensor)], ids=["cosines", "complex numbers"])
def test_for_many_kinds_of_arguments_those_with_the_same_flags_stand(real: str, kind: type[Value]) -> None:
    assert type(result_of(MANY.format(real=real), Tensor())) is kind


OUTPUTS = """\
class Encoder(nn.Module):
    def forward(self, x, all_states=False):
        states = (x,) if all_states else None
        for _ in range(4):
            x = x * 2
            if all_states:
                states = states + (x,)
        return tuple(v for v in [x, states] if v is not None)

class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
    def forward(self, x):
        outputs = self.encoder(x, all_states={asked})
        return [state * 2 for state in outputs[{index}]]
"""


@pytest.mark.parametrize(
    ("asked", "index", "lines"),
    [("True", 1, set()), ("True", 0, {16}), ("False", 0, {16})],
    ids=["a tuple of states", "a tensor before it", "a tensor alone"],
)
def test_outputs_are_told_apart_of_which_those_are_left_that_are_there(asked: str, index: int, lines: set[int]) -> None:
    found = findings_of(OUTPUTS.format(asked=asked, index=index))
    assert {line for code, line, _ in found if code == "ONX104"} == lines


FORM = """\
def sides(shape):
    if isinstance(shape, {kind}):
        return shape[-2:]
    return int(shape[0]), int(shape[1])

class M(nn.Module):
    def forward(self, x: Tensor, y: Tensor):
        h, w = sides({given})
        return torch.zeros(h, w) + x
"""


@pytest.mark.parametrize(
    ("given", "kind", "codes"),
    [("x.shape", "tuple", set()), ("x.shape", "list", {"ONX202"}), ("y", "tuple", {"ONX401"})],
    ids=["a shape, a tuple", "a shape, no list", "a tensor"],
)
def test_the_arms_for_kinds_of_sizes(given: str, kind: str, codes: set[str]) -> None:
    assert {code for code, line, _ in findings_of(FORM.format(given=given, kind=kind)) if line == 4} == codes


@pytest.mark.parametrize(("name", "codes"), [("labels_ids", set()), ("label_ids", {"ONX401"})])
def test_what_belongs_to_labels_is_not_given_to_an_exported_model(name: str, codes: set[str]) -> None:
    body = f"if {name} is not None:\n    x = x + {name}.sum().item()\nreturn x"
    assert {code for code, _, _ in findings_of(model(body, f"{name}: Tensor = None"))} == codes


KIND = """\
class M(nn.Module):
    def __init__(self, config):
        super().__init__()
{made}
    def set_kind(self, value):
        if value == self.kind:
            return
        self.kind = value
    def forward(self, x: Tensor):
        batch, length = x.size()
        if self.kind == "sparse" and length > 64:
            x = x * 2
        return x
"""
SETTINGS = {
    "written in an arm": ('self.kind = config.kind\nif config.cross:\n    self.kind = "full"', True),
    "written by a call in an arm": ('self.kind = "sparse"\nif config.cross:\n    self.set_kind("full")', True),
    "written in an arm of an arm": (
        'self.kind = "sparse"\nif config.cross:\n    if config.deep:\n        self.kind = "full"',
        True,
    ),
    "written by a call in an arm that asks for it": (
        'self.kind = config.kind\nif self.kind != "full" and config.cross:\n    self.set_kind("full")',
        True,
    ),
    "written in both arms": ('if config.cross:\n    self.kind = "sparse"\nelse:\n    self.kind = "full"', True),
    "written by a handler": (
        'try:\n    self.kind = config.kind\nexcept AttributeError:\n    self.kind = "full"',
        True,
    ),
    "written alike in both arms": (
        'self.kind = "sparse"\nif config.cross:\n    self.kind = "full"\nelse:\n    self.kind = "full"',
        False,
    ),
    "written whatever the arm": ('self.kind = config.kind\nif config.cross:\n    pass\nself.kind = "full"', False),
    "written by a call": ('self.kind = config.kind\nself.set_kind("full")', False),
    "kept by an arm that raises": ('self.kind = "full"\nif config.cross:\n    raise ValueError', False),
}


@pytest.mark.parametrize(("made", "open_"), SETTINGS.values(), ids=SETTINGS.keys())
def test_a_setting_is_either_of_what_the_constructor_may_write(made: str, open_: bool) -> None:
    test = 'Branch dim: self.kind == "sparse" and length > 64'
    assert told(KIND.format(made=textwrap.indent(made, " " * 8))) == [test] * open_


def test_an_input_that_may_be_a_tensor_is_hardly_a_list() -> None:
    source = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, 4, 3)
    def forward(self, *args):
        x = args[0]
        if isinstance(x, list):
            y = self.conv(x[0])
            return [y if y.sum() > 0 else -y]
        return x if x.max() > 0 else -x
"""
    assert told(source) == ["Branch data: x.max() > 0", "Branch data: y.sum() > 0?"]


SETTINGS = {
    "a namespace of a dict": "SimpleNamespace(**{**self.defaults, **conf})",
    "merged settings": "OmegaConf.merge(OmegaConf.create(self.defaults), conf)",
    "settings in settings": "EasyDict(head={**self.defaults, **conf}).head",
}


@pytest.mark.parametrize("made", SETTINGS.values(), ids=SETTINGS.keys())
@pytest.mark.parametrize(("test", "told_of"), [("self.conf.exact", True), ("not self.conf.exact", False)])
def test_a_setting_of_a_namespace_is_a_flag_that_is_its_default(made: str, test: str, told_of: bool) -> None:
    source = f"""
from types import SimpleNamespace
from easydict import EasyDict
from omegaconf import OmegaConf

class M(nn.Module):
    defaults = {{"exact": True, "size": 4}}
    def __init__(self, conf):
        super().__init__()
        self.conf = {made}
    def forward(self, x: Tensor):
        if {test}:
            {READ}
        return x.view(-1, self.conf.size)
"""
    found = [(code, severity) for code, severity, *_ in findings_of(source)]
    assert len(told(source)) == 1
    assert bool(found) is told_of


HELD = """
from types import SimpleNamespace
from easydict import EasyDict

class M(nn.Module):
    def __init__(self, conf):
        super().__init__()
        self.conf = conf
    def forward(self, x: Tensor):
        return x if self.conf.{name} and x.sum() > 0 else -x

{made}
torch.onnx.export(M(conf).eval(), torch.ones(2, 3), "m.onnx")
"""
OPEN = {
    "changed at module level": ("exact", "conf = EasyDict(exact=False)\nconf.exact = True"),
    "changed in a function": (
        "exact",
        "def made():\n    conf = SimpleNamespace(exact=False)\n    conf.exact = True\n    return conf\nconf = made()",
    ),
    "of exports": ("export", "def made(**more):\n    return SimpleNamespace(export=False, **more)\nconf = made()"),
    "filled later": ("exact", "conf = EasyDict()\nconf.exact = True"),
}


@pytest.mark.parametrize(("name", "made"), OPEN.values(), ids=OPEN.keys())
def test_a_setting_is_no_flag_that_is_off_where_it_is(name: str, made: str) -> None:
    assert "ONX101" in {code for code, *_ in findings_of(HELD.format(name=name, made=made))}


def test_a_method_of_a_dict_is_one_where_a_key_has_its_name() -> None:
    source = "def f(x):\n    d = {'values': x}\n    return [v for v in d.values()][0]\n"
    assert isinstance(result_of(source, Tensor()), Tensor)


@pytest.mark.parametrize(
    ("flag", "default", "lines"),
    [
        ("exportable", "False", {6}),  # who exports turns it on
        ("onnx_trace", "False", {6}),
        ("exportable", "True", {6, 7}),
        ("use_onnx", "False", {6, 7}),  # it may run a file, too
        ("dynamic", "False", {6, 7}),
    ],
)
def test_a_flag_of_the_constructor_for_exports_is_on(flag: str, default: str, lines: set[int]) -> None:
    source = f"""\
class M(nn.Module):
    def __init__(self, {flag}=False):
        super().__init__()
        self.flag = {flag}
    def forward(self, x: Tensor):
        if self.flag: return x + x.sum().item()
        return x * x.max().item()
""".replace(f"{flag}=False", f"{flag}={default}")
    assert {line for _, line, _ in findings_of(source)} == lines


@pytest.mark.parametrize(("default", "shown"), [("''", True), ("'nearest'", False), ("None", False)])
def test_no_text_by_default_chooses_no_arm(default: str, shown: bool) -> None:
    """Who builds the model says which: with `upsampler=''` it would do nothing."""
    source = f"""
class M(nn.Module):
    def __init__(self, upsampler={default}):
        super().__init__()
        self.upsampler = upsampler
    def forward(self, x: Tensor):
        if self.upsampler == "pixelshuffle":
            x = x + x.sum().item()
        return x
"""
    assert bool(findings_of(source)) is shown
