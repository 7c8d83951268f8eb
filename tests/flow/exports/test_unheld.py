"""Modules without layers beside the model that is exported: what nothing holds is no model either."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysing import PRELUDE, analysed, facts_of, project_of, written

from onnxlint.config.settings import Settings
from onnxlint.flow.exports.unheld import is_overridden, uncalled
from onnxlint.flow.state.observations import RandomDraw
from onnxlint.run.pipeline import run_check

MODEL = (
    PRELUDE
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        {held}
    def forward(self, x):
        return self.linear(x)

class Boxes(nn.Module):
    '''What a Net gives, see Boxes, for evaluation.'''
    def forward(self, scores: Tensor):
        return scores if scores.sum() > 0 else -scores

def build(name, criterion):
    model = Net()
    {built}
"""
)
SCRIPT = """
import torch
import model
{imported}

def main(path):
    torch.onnx.export(torch.load(path)["model"].eval(), torch.ones(1, 4), "model.onnx", dynamo=True)
"""
APART = {
    "nothing": {},
    "a function, beside the model": {"built": "return model, Boxes()"},
    "a function, for later": {"built": "boxes = Boxes()\n    return boxes.eval()"},
}
INSIDE = {
    "a model": {"held": "self.boxes = Boxes()"},
    "a function that hands it to a model": {"built": "boxes = Boxes()\n    return Net(boxes)"},
    "a table": {"built": "return {'boxes': Boxes}[name]()"},
    "a function that a script calls": {"built": "return Boxes()", "imported": "boxes = model.build('boxes', 0)"},
    "a function that a model calls": {"built": "return model, Boxes()", "held": "self.boxes = build('', 0)[1]"},
    "a name that is computed": {"imported": "kind = getattr(model, 'Boxes')"},
}


def reasons(held: str = "pass", built: str = "return model", imported: str = "") -> set[str]:
    """Why no export comes to the branch in `Boxes`."""
    script = SCRIPT.format(imported=imported).replace("def main(path):", f"def main(path):\n    {imported}")
    project = project_of({"model.py": MODEL.format(held=held, built=built), "export.py": script})
    return {o.outside for o in facts_of(project) if o.text == "scores.sum() > 0"}


@pytest.mark.parametrize("where", APART.values(), ids=APART.keys())
def test_no_export_comes_to_what_is_built_by(where: dict[str, str]) -> None:
    (why,) = reasons(**where)
    assert why.endswith("export.py:8 names it, and it has no layers")


@pytest.mark.parametrize("where", INSIDE.values(), ids=INSIDE.keys())
def test_an_export_may_come_to_what_is_built_by(where: dict[str, str]) -> None:
    assert reasons(**where) == {""}


def test_a_function_with_a_gradient_of_its_own_that_nothing_applies() -> None:
    source = MODEL.format(held="pass", built="return model").replace(
        "Boxes(nn.Module)", "Boxes(torch.autograd.Function)"
    )
    source = source.replace("forward(self, scores", "forward(ctx, scores")
    project = project_of({"model.py": source, "export.py": SCRIPT.format(imported="")})
    (why,) = {o.outside for o in facts_of(project) if o.text == "scores.sum() > 0"}
    assert why.endswith("names it, and it has no layers")


APPLICATION = (
    PRELUDE
    + """
class Net(nn.Module):
    def forward(self, x: Tensor):
        return x * 2

class Attention(nn.Module):
    def __init__(self):
        super(Attention, self).__init__()
        self.sampling = Sampling()

    def forward(self, scores: Tensor):
        return self.sampling(scores if scores.sum() > 0 else -scores)

class Sampling(nn.Module):
    def forward(self, rows: Tensor):
        return rows if rows.mean() > 0 else -rows

{more}
"""
)
NAMED_NOWHERE = {
    "what a function builds the other of": "def build(): return Net()",
    "a comment and a text of several words": "def build(): return Net()  # Attention\nprint('Attention is slow')",
    "a method that nothing calls; torch has another": (
        "class Trainer:\n    def nms(self):\n        return Attention()\ndef build():\n"
        "    return Net(), torchvision.ops.nms"
    ),
    "a class that is no module": "class Trainer:\n    def __init__(self):\n        self.model = Net()",
}
NAMED = {
    "a function": "def build(): return Net() or Attention()",
    "a method that a function calls": (
        "class Trainer:\n    def attend(self):\n        return Attention()\ndef build(t): return Net() or t.attend()"
    ),
    "nothing builds any": "",
    "a text": "def build(): return Net()\nNAMES = ['Attention']",
    "what evaluates a text": "def build(name): return Net() or eval(name)()",
    "a configuration": "def build(config): return Net() or instantiate(config)",
    "a module that is imported by a text": (
        "import importlib\ndef build(a, b):\n    m = importlib.import_module(a)\n    return Net() or getattr(m, b)()"
    ),
    "a module whose classes are gone through": (
        "import inspect\ndef build(a):\n    m = __import__(a)\n"
        "    return Net() or inspect.getmembers(m, inspect.isclass)"
    ),
    "another model": "def build(): return Net()\nclass More(nn.Module):\n    def __init__(self):\n"
    "        super().__init__()\n        self.attention = Attention()",
}


def why_of_branches(more: str, script: str = "") -> set[str]:
    files = {"model.py": APPLICATION.format(more=more), "more.py": script}
    return {o.outside for o in facts_of(project_of(files)) if o.text in ("scores.sum() > 0", "rows.mean() > 0")}


@pytest.mark.parametrize("more", NAMED_NOWHERE.values(), ids=NAMED_NOWHERE.keys())
def test_a_class_that_no_code_names_is_not_what_an_application_exports(more: str) -> None:
    assert why_of_branches(more) == {"named nowhere else"}


@pytest.mark.parametrize("more", NAMED.values(), ids=NAMED.keys())
def test_a_class_may_be_built_where_it_is_named_by(more: str) -> None:
    assert "named nowhere else" not in why_of_branches(more)


@pytest.mark.parametrize(("keyword", "named"), [(", name='attention'", True), (", metaclass=Meta", False)])
def test_a_class_with_a_keyword_may_be_registered_by_it(keyword: str, named: bool) -> None:
    source = APPLICATION.format(more="def build(): return Net()").replace(
        "Attention(nn.Module", f"Attention(nn.Module{keyword}"
    )
    reasons = {o.outside for o in facts_of(project_of({"model.py": source})) if o.text == "scores.sum() > 0"}
    assert reasons == {"" if named else "named nowhere else"}


@pytest.mark.parametrize(
    ("settings", "found"), [("name: Other", True), ("_target_: model.Attention", False), (None, False)]
)
def test_a_class_that_code_looks_for_by_a_name_is_named_by_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str | None, found: bool
) -> None:
    more = "def build(config): return Net() or instantiate(config)"
    (tmp_path / "model.py").write_text(APPLICATION.format(more=more))
    if settings is not None:
        (tmp_path / "conf").mkdir()
        (tmp_path / "conf" / "model.yaml").write_text(settings)
    monkeypatch.chdir(tmp_path)
    report = run_check([Path()], Settings(root=tmp_path, static_only=True, cache=False))
    reasons = {f.outside for f in report.findings if f.code == "ONX101"}
    assert ("named nowhere else" in reasons) is found


FROM_YAML = (
    PRELUDE
    + """
class Inner(nn.Module):
    def forward(self, x: Tensor):
        return x if x.sum() > 1 else -x

class Listed(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def forward(self, x: Tensor):
        return self.inner(x if x.sum() > 2 else -x)

class Unlisted(nn.Module):
    def forward(self, x: Tensor):
        return x if x.sum() > 3 else -x

def parse(rows):
    layers = []
    for m, args in rows:
        m = eval(m) if isinstance(m, str) else m
        if m in [Listed, Unlisted] or isinstance(m, Unlisted):
            args = [1, *args]
        layers.append(m(*args))
    return nn.Sequential(*layers)
"""
)


def test_of_classes_that_a_parser_evaluates_those_that_yaml_names_are_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.py").write_text(FROM_YAML)
    (tmp_path / "net.yaml").write_text("layers: [[Listed, []]]")
    monkeypatch.chdir(tmp_path)
    report = run_check([Path()], Settings(root=tmp_path, static_only=True, cache=False))
    outside = {f.text: bool(f.outside) for f in report.findings if f.code == "ONX101"}
    assert outside == {"x.sum() > 1": False, "x.sum() > 2": False, "x.sum() > 3": True}
    (tmp_path / "net.yaml").unlink()
    report = run_check([Path()], Settings(root=tmp_path, static_only=True, cache=False))
    assert not any(f.outside for f in report.findings)


def test_a_class_that_a_module_imports_with_all_others_may_be_for_users() -> None:
    assert why_of_branches("def build(): return Net()", "from model import *") == {""}


PART = """
class Part(nn.Module):
    def forward(self, x):
        return self.change(x) + {draw}

    def change(self, x):
        return x * 2

class Holder({base}):
    def __init__(self):
        super().__init__()
        {made}

    def features(self, x):
        return {used}

    def load(self, state):
        self.part.load_state_dict(state)
"""


@pytest.mark.parametrize(
    ("made", "used", "base", "more", "outside"),
    [
        ("self.part = Part()", "self.part.change(x)", "nn.Module", "", True),
        ("self.part = Part()", "self.part(x)", "nn.Module", "", False),
        ("self.part = Part()", "self.part.forward(x)", "nn.Module", "", False),
        ("self.part = Part()", "run(self.part, self.part.change(x))", "nn.Module", "", False),
        ("self.part = Part()", "x", "nn.Module", "", False),
        ("self.part = Part()", "self.part.change(x)", "object", "", False),
        ("self.part = nn.Sequential(Part())", "self.part.change(x)", "nn.Module", "", False),
        ("self.part = Part()", "self.part.change(x)", "nn.Module", "class Other(Part):\n    pass\n", False),
        ("self.part = Part()", "self.part.change(x)", "nn.Module", "PARTS = {'own': Part}\n", False),
    ],
)
def test_a_part_of_which_other_methods_are_called_alone(
    made: str, used: str, base: str, more: str, outside: bool
) -> None:
    text = PRELUDE + PART.format(draw="torch.rand(x.shape)", made=made, used=used, base=base) + more
    draws = [o for o in analysed(project_of(text)).observations if isinstance(o, RandomDraw)]
    assert [bool(o.outside) for o in draws] == [outside]


def test_a_part_that_another_module_calls_through_its_holder_is_run() -> None:
    text = PART.format(
        draw="torch.rand(x.shape)", made="self.part = Part()", used="self.part.change(x)", base="nn.Module"
    )
    other = "from holder import Holder\n\ndef run(x):\n    return Holder().part(x)\n"
    draws = [
        o
        for o in analysed(project_of({"holder.py": PRELUDE + text, "run.py": other})).observations
        if isinstance(o, RandomDraw)
    ]
    assert [o.outside for o in draws] == [""]


@pytest.mark.parametrize(
    ("replaces", "outside"), [("    model.forward = model.features\n", "no export calls its forward"), ("", "")]
)
def test_a_part_that_only_training_calls_where_the_export_replaces_forward(replaces: str, outside: str) -> None:
    text = PART.format(draw="torch.rand(x.shape)", made="self.part = Part()", used="x * 2", base="nn.Module")
    text += "\n    def forward(self, x):\n        return self.part(x)\n"
    script = (
        f"\ndef main():\n    model = Holder().eval()\n{replaces}"
        "    torch.onnx.export(model, torch.zeros(1, 3), 'holder.onnx')\n"
        "    torch.onnx.export(read(), torch.zeros(1), 'm')\n"
    )
    draws = [o for o in analysed(project_of(PRELUDE + text + script)).observations if isinstance(o, RandomDraw)]
    assert {o.outside for o in draws} == {outside}


@pytest.mark.parametrize(
    ("used", "outside"), [("holder.part(x)", ""), ("holder.other(x)", "no export calls its forward")]
)
def test_a_part_that_an_exported_wrapper_of_another_module_calls_is_run(used: str, outside: str) -> None:
    text = PART.format(draw="torch.rand(x.shape)", made="self.part = Part()", used="x * 2", base="nn.Module")
    text += "\n    def forward(self, x):\n        return self.part(x)\n"
    read = "import holder\n\ndef read(path):\n    model = holder.Holder()\n    return model\n"
    script = (
        "from reading import read\n\nclass Wrapper(nn.Module):\n    def __init__(self, holder):\n"
        "        super().__init__()\n        self.holder = holder\n\n    def forward(self, x):\n"
        f"        holder = self.holder\n        return {used}\n\ndef main():\n    model = read('a')\n"
        "    model.forward = model.features\n    torch.onnx.export(model, torch.zeros(1, 3), 'a.onnx')\n"
        "    torch.onnx.export(Wrapper(load()), torch.zeros(1, 3), 'b.onnx')\n"
    )
    files = {"holder.py": PRELUDE + text, "reading.py": read, "export.py": PRELUDE + script}
    draws = [o for o in analysed(project_of(files)).observations if isinstance(o, RandomDraw)]
    assert {o.outside for o in draws} == {outside}


BASE = """
class Base(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x
class Derived(Base):
    {own}
        return super().forward(x) if x.max() > 0 else x
{more}
"""


@pytest.mark.parametrize(
    ("own", "more", "overridden"),
    [
        ("def forward(self, x):", "", True),
        ("def other(self, x):", "", False),
        ("def forward(self, x):", "net = Base()", False),
        ("def forward(self, x):", "KINDS = {'base': Base}", False),
        ("def forward(self, x):", "KINDS = ['Base']", False),
        ("def forward(self, x):", "def is_base(m):\n    return isinstance(m, Base)", True),
    ],
)
def test_a_base_that_nothing_builds_is_dead_where_each_derived_class_has_a_forward(
    own: str, more: str, overridden: bool
) -> None:
    (info,) = project_of(PRELUDE + BASE.format(own=own, more=more)).modules.values()
    assert is_overridden(info.classes["Base"]) is overridden


def test_a_base_that_a_package_offers_may_be_built_by_its_users(tmp_path: Path) -> None:
    text = PRELUDE + BASE.format(own="def forward(self, x):", more="")
    project = written({"pkg/__init__.py": "from pkg.nets import Base\n", "pkg/nets.py": text}, tmp_path)
    assert not any(is_overridden(c) for info in project.modules.values() for c in info.classes.values())


TRAINED = """
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
    def forward(self, x):
        return self.linear(x) if x.sum() > 0 else x
class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.part = Part()
    def forward(self, x):
        {test}:
            if x.shape[0] > 2:
                x = self.part(x)  # not self.part.forward(x)
        return self.linear(x)
"""


@pytest.mark.parametrize(
    ("test", "why"),
    [
        ("if self.training", "only training calls its forward"),
        ("if self.training and self.warm", "only training calls its forward"),
        ("if self.warm", ""),
        ("if not self.training", ""),
    ],
)
def test_a_part_that_is_called_in_training_alone(test: str, why: str) -> None:
    text = PRELUDE + TRAINED.format(test=test)
    (info,) = project_of(text).modules.values()
    assert uncalled(info.classes["Part"], frozenset(), ()) == why


TARGETS = """
class Targets(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
    def forward(self, x):
        return self.linear(x) if x.sum() > 0 else x
class RotatedTargets(Targets):
    {own}
class Template(nn.Module):
    def __init__(self):
        super().__init__()
        self.targets = Targets()
    def assign(self, x):
        with torch.no_grad():
            return self.targets.forward(x)
class Head(Template):
    def forward(self, x):
        {test}:
            x = self.assign(x)
        return x * 2
class RotatedHead(Template):
    def __init__(self):
        super().__init__()
        self.targets = RotatedTargets()
    def forward(self, x):
        if self.training:
            return self.assign(x)
        return x
"""


@pytest.mark.parametrize("own", ["pass", "def forward(self, x): return x"])
@pytest.mark.parametrize(
    ("test", "why"), [("if self.training", "only training calls its forward"), ("if self.warm", "")]
)
def test_a_part_that_a_method_calls_which_training_alone_does(test: str, why: str, own: str) -> None:
    (info,) = project_of(PRELUDE + TARGETS.format(test=test, own=own)).modules.values()
    assert {uncalled(info.classes[name], frozenset(), ()) for name in ("Targets", "RotatedTargets")} == {why}


def test_classes_that_derive_from_each_other_have_an_end() -> None:
    text = """
class Base(nn.Module):
    def forward(self, x):
        return x
class One(Two): pass
class Two(One, Base): pass
class Again(Again, Base): pass
class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.again = One(), Again()
        self.two = Two()
    def forward(self, x):
        if self.training:
            return self.one(x), self.two(x), self.again(x)
        return x
"""
    (info,) = project_of(PRELUDE + text).modules.values()
    assert [uncalled(info.classes[name], frozenset(), ()) for name in ("One", "Two", "Again")] == ["", "", ""]


@pytest.mark.parametrize(("used", "idle"), [("torch.stft(x, 4)", True), ("self.stft(x)", False)])
def test_a_function_of_torch_is_no_use_of_a_part_of_that_name(used: str, idle: bool) -> None:
    part = "class Stft(nn.Module):\n    def transform(self, x):\n        return x\n"
    part += "    def forward(self, x):\n        return self.transform(x)\n"
    whole = "class Whole(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.stft = Stft()\n"
    whole += f"    def forward(self, x):\n        return self.stft.transform(x) + {used}\n"
    (info,) = project_of(f"{PRELUDE}{part}{whole}").modules.values()
    assert bool(uncalled(info.classes["Stft"], frozenset(), ())) is idle
