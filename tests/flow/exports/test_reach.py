"""What exports may come to: names lead from the calls to classes; the rest is observed outside, with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnxlint.flow.exports.reach import Reach
from onnxlint.flow.state.observations import Branch, ExportCall
from tests.flow.analysing import PRELUDE, analysed, project_of, written

NET = """
class {name}(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x
"""
SCRIPT = (
    "import torch\nfrom model import Net\n\ndef main():\n    torch.onnx.export(Net().eval(), torch.zeros(1, 3), 'm')\n"
)


def _net(name: str) -> str:
    return PRELUDE + NET.format(name=name)


def _outside(files: dict[str, str]) -> dict[str, str]:
    """For the branch of each file, why no export comes to it."""
    seen = analysed(project_of(files)).observations
    return {o.span.path.rpartition("nowhere/")[2]: o.outside for o in seen if isinstance(o, Branch)}


def test_what_no_name_leads_to_from_the_export_is_outside_with_the_reason() -> None:
    """The exported class is inside, one in a file that the script does not mention is not."""
    files = {"export.py": SCRIPT, "model.py": _net("Net"), "other.py": _net("Other")}
    assert _outside(files) == {"model.py": "", "other.py": "not reached from /nowhere/export.py:5"}


def test_what_registers_itself_does_not_count_as_what_exports(tmp_path: Path) -> None:
    """The callers of the export are looked up through what `cli.py` imports; that makes no class of it one of them."""
    net = _net("Net").replace("class Net", "@register\nclass Net")
    files = {"export.py": SCRIPT, "model.py": net, "cli.py": "from export import main\n\ndef run():\n    main()\n"}
    reach = Reach(list(written(files, tmp_path).modules.values()))
    exporting = {(info.source.path.name, name) for info, name in reach.exporting}
    assert exporting == {("export.py", "main"), ("cli.py", "run"), ("cli.py", "<module>")}


@pytest.mark.parametrize(
    ("script", "runs"), [("cli.py", True), ("tests/cases.py", False), ("benchmarks/speed.py", False)]
)
def test_callers_that_test_or_measure_the_export_are_not_run(script: str, runs: bool) -> None:
    """What a test passes is not what the project exports."""
    files = {
        "export.py": SCRIPT,
        "model.py": _net("Net"),
        script: "from export import main\n\ndef run():\n    main()\n",
    }
    reach = Reach(list(project_of(files).modules.values()))
    assert reach.callers() == ([f"/nowhere/{script}:run"] if runs else [])


@pytest.mark.parametrize(("imports", "inside"), [("pkgutil.walk_packages(__path__)", True), ("()", False)])
def test_a_package_that_imports_all_it_holds_may_export_any_of_it(imports: str, inside: bool, tmp_path: Path) -> None:
    """What registers itself in modules that nobody names is looked up in a table."""
    script = SCRIPT.replace("from model", "from pkg.model")
    script += "\ndef other():\n    torch.onnx.export(TABLE.get('net'), torch.zeros(1, 3), 'o')\n"
    files = {"pkg/__init__.py": f"import pkgutil\nfor found in {imports}:\n    load(found)\n", "pkg/export.py": script}
    files |= {"pkg/model.py": _net("Net"), "pkg/other.py": _net("Other")}
    seen = analysed(written(files, tmp_path)).observations
    outside = {o.span.path.rpartition("/")[2]: o.outside for o in seen if isinstance(o, Branch)}
    assert (outside["other.py"] == "") is inside


def test_callers_of_a_function_that_exports_lead_on() -> None:
    """The model comes from a function that calls the one that exports."""
    tool = "import torch\n\ndef convert(model):\n    torch.onnx.export(model, torch.zeros(1, 3), 'm')\n"
    use = "from other import Other\nfrom tool import convert\n\ndef run():\n    convert(Other().eval())\n"
    files = {"tool.py": tool, "use.py": use, "model.py": _net("Net"), "other.py": _net("Other")}
    assert _outside(files) == {"model.py": "not reached from /nowhere/tool.py:4", "other.py": ""}


@pytest.mark.parametrize(
    "line",
    [
        "importlib.import_module('models.' + name).make()",
        "torch.load(path)['model'].float().eval()",
        "instantiate(cfg)",
    ],
)
def test_where_a_name_does_not_tell_what_is_built_nothing_is_outside(line: str) -> None:
    """A model that is imported by a text, unpickled or made by a configuration may be any."""
    script = (
        f"{SCRIPT}\ndef other(name, path, cfg):\n    m = {line}\n    torch.onnx.export(m, torch.zeros(1, 3), 'o')\n"
    )
    assert set(_outside({"e.py": script, "model.py": _net("Net"), "other.py": _net("Other")}).values()) == {""}


@pytest.mark.parametrize("text", ["f'nets.{name}'", "'nets.%s' % name", "'nets.' + name", "f'lib.nets.{name}'"])
def test_a_name_that_begins_with_a_package_imports_of_that_alone(text: str) -> None:
    script = "import torch\nimport importlib\n\ndef main(name):\n"
    script += f"    m = importlib.import_module({text}).make()\n    torch.onnx.export(m, torch.zeros(1, 3), 'm')\n"
    inside = "lib/nets/one.py" if "lib" in text else "nets/one.py"
    files = {"e.py": script, inside: _net("Net"), "other.py": _net("Other")}
    assert _outside(files) == {inside: "", "other.py": "not reached from /nowhere/e.py:6"}


def test_an_import_from_a_library_by_a_text_is_no_model_of_the_project() -> None:
    script = "import torch\nfrom importlib import import_module\nfrom model import Net\n\ndef main(name):\n"
    script += "    zoo = import_module(f'torchvision.models.{name}')\n"
    script += "    torch.onnx.export(Net(zoo), torch.zeros(1, 3), 'm')\n"
    outside = _outside({"e.py": script, "model.py": _net("Net"), "other.py": _net("Other")})
    assert outside == {"model.py": "", "other.py": "not reached from /nowhere/e.py:7"}


@pytest.mark.parametrize(
    ("named", "base", "reached"),
    [
        ("'configs/net.py'", "'./base.py'", True),
        ("'configs/net.py'", "'../gone.py'", False),  # what else it says is not known
        ("args.config", "'./base.py'", False),
    ],
)
def test_a_config_that_the_export_names_says_what_of_a_registry_is_built(
    named: str, base: str, reached: bool, tmp_path: Path
) -> None:
    script = "import torch\nimport nets\nfrom mm import Config, build\n\ndef main(args):\n"
    script += (
        f"    m = build(Config.fromfile({named}).model)\n    torch.onnx.export(m, torch.zeros(1, 3), 'm')\n\nmain(0)\n"
    )
    nets = "".join(NET.format(name=name) for name in ("Net", "Head", "Other")).replace(
        "class", "@MODELS.register\nclass"
    )
    configs = {"configs/net.py": f"_base_ = [{base}]\nmodel = dict(type='Net')\n", "configs/base.py": "head = 'Head'\n"}
    files = {"e.py": script, "nets.py": PRELUDE + "from mm import MODELS\n" + nets, **configs}
    outside = Reach(list(written(files, tmp_path).modules.values())).outside()
    assert [name.rpartition(":")[2] for name in outside] == (["Other"] if reached else [])


def test_a_registered_class_of_an_imported_module_is_reached() -> None:
    """`@REGISTRY.register()` is what a configuration names."""
    model = PRELUDE + "import other\n" + NET.format(name="Net")
    other = PRELUDE + "from registry import REGISTRY\n\n@REGISTRY.register()" + NET.format(name="Other")
    script = SCRIPT.replace("Net()", "Net.named('Other')")
    assert _outside({"export.py": script, "model.py": model, "other.py": other}) == {"model.py": "", "other.py": ""}


def test_without_an_export_everything_but_tests_is_read() -> None:
    """A project without any export is read from the models that nothing else holds."""
    files = {"model.py": _net("Net"), "other.py": _net("Other"), "tests/test_net.py": _net("Fake")}
    assert _outside(files) == {"model.py": "", "other.py": "", "tests/test_net.py": "defined in a test"}


def _calls(files: dict[str, str]) -> dict[str, str]:
    seen = analysed(project_of({"model.py": _net("Net"), **files})).observations
    return {o.span.path.rpartition("nowhere/")[2]: o.outside for o in seen if isinstance(o, ExportCall)}


def test_an_export_call_of_a_test_counts_only_where_there_is_no_other() -> None:
    """The only export of a project may stand in its tests."""
    assert _calls({"tests/test_export.py": SCRIPT}) == {"tests/test_export.py": ""}
    both = _calls({"tests/test_export.py": SCRIPT, "export.py": SCRIPT})
    assert both == {"export.py": "", "tests/test_export.py": "a test; the project exports at /nowhere/export.py:5"}


@pytest.mark.parametrize("mark", ["pytest.mark.skip(reason='slow')", "unittest.skip('slow')", "pytest.mark.slow"])
@pytest.mark.parametrize("method", [False, True])
def test_an_export_call_of_a_test_that_is_skipped_never_runs(mark: str, method: bool) -> None:
    head, _, body = SCRIPT.partition("def main():\n")
    test = f"@{mark}\ndef test_export(self=None):\n{body}"
    test = "class TestExport:\n" + "".join(f"    {line}\n" for line in test.splitlines()) if method else test
    why = "a test that is skipped" if ".skip(" in mark else ""
    assert _calls({"tests/test_export.py": head + test}) == {"tests/test_export.py": why}


def test_an_export_in_an_arm_that_is_off_by_default_counts() -> None:
    """A script's flags say nothing of what a project exports."""
    script = SCRIPT.replace("def main():\n    torch", "def main(full=False):\n    if full:\n        torch")
    assert _calls({"export.py": script}) == {"export.py": ""}


def test_what_an_export_and_something_else_come_to_is_inside() -> None:
    """A block that an exported model and one outside share is observed once, and is inside."""
    shared = (
        "from block import Block\n\nclass {name}(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    )
    shared = PRELUDE + shared + "        self.b = Block()\n\n    def forward(self, x):\n        return self.b(x)\n"
    files = {"export.py": SCRIPT, "model.py": shared.format(name="Net"), "a.py": shared.format(name="A")}
    assert _outside({**files, "block.py": _net("Block")}) == {"block.py": ""}


def test_the_model_of_an_export_is_what_the_callers_give() -> None:
    """A method or a function that exports is run by those that call it first, whatever they are called."""
    script = (
        "import torch\nfrom model import Net\n\nclass Tester:\n    def run_it(self, model):\n        model.eval()\n"
    )
    script += "        torch.onnx.export(model, torch.zeros(1, 3), 'm')\n\n"
    script += "    def test_net(self):\n        self.run_it(Net())\n"
    tool = "import torch\n\ndef save(model):\n    torch.onnx.export(model, torch.zeros(1, 3), 'm')\n"
    use = "from tool import save\nfrom model import Net\n\ndef run():\n    save(Net())\n"
    for files in ({"script.py": script}, {"tool.py": tool, "use.py": use}):
        seen = analysed(project_of({"model.py": _net("Net"), **files})).observations
        assert [o.model for o in seen if isinstance(o, ExportCall)] == ["Net"]


def test_what_a_script_merely_calls_is_still_analysed() -> None:
    """A script that runs the model itself before it exports another hides none of its branches."""
    script = SCRIPT.replace("def main():\n", "def main():\n    for n in range(7):\n        Net()(torch.zeros(n, 3))\n")
    script = script.replace("export(Net()", "export(torch.nn.Linear(3, 3)")
    assert _outside({"export.py": script, "model.py": _net("Net")}) == {"model.py": ""}


HOLDER = """
class Holder(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net.part(x){more}
"""
HELD = PRELUDE + NET.format(name="Part") + NET.format(name="Net").replace("if x.sum() > 0", "if x.mean() > 0")
HELD += "\n    part = Part()\n"
WRAPS = "import torch\nfrom model import Net, Holder\n\ndef main({flag}):\n    m = {model}\n"
WRAPS += "    torch.onnx.export(m, torch.zeros(1, 3), 'm')\n"


def _by_class(script: str, more: str = "") -> dict[str, bool]:
    """For the branch in each class of a model that another one holds: whether no export comes to it."""
    files = {"export.py": script, "model.py": HELD + HOLDER.format(more=more)}
    seen = analysed(project_of(files)).observations
    return {o.symbol.split(".")[1]: bool(o.outside) for o in seen if isinstance(o, Branch)}


def test_what_an_exported_model_holds_and_does_not_run_is_outside() -> None:
    """Names lead to `Net` from the export call, but the model that is exported runs a part of it alone."""
    assert _by_class(WRAPS.format(flag="", model="Holder(Net())")) == {"Part": False, "Net": True}


@pytest.mark.parametrize(
    ("model", "more"),
    [
        ("make()", ""),
        ("Holder(Net()) if flag else Net()", ""),
        ("{'a': Net, 'b': Holder}[flag]()", ""),
    ],
)
def test_where_the_model_is_not_known_or_may_be_another_names_decide(model: str, more: str) -> None:
    assert not _by_class(WRAPS.format(flag="flag", model=model), more)["Net"]


@pytest.mark.parametrize(("more", "outside"), [("pass", True), ("export(make(), x, 'n')", False), ("make(x)", True)])
def test_what_no_model_built_is_outside_unless_an_open_export_may_come_to_it(more: str, outside: bool) -> None:
    """The model that is known calls something that is not, which names alone would let be anything."""
    script = "import torch\nfrom torch.onnx import export\nfrom model import Net\nfrom other import Other\n\n"
    script += "def make():\n    return TABLE[Other]\n\ndef main(x):\n    export(Net(), x, 'm')\n"
    script += f"\ndef more(x):\n    {more}\n"
    files = {"export.py": script, "model.py": _net("Net").replace("-x", "self.unknown(x)"), "other.py": _net("Other")}
    why = "no part of what is known to be exported at /nowhere/export.py:10"
    assert _outside(files) == {"model.py": "", "other.py": why if outside else ""}


def test_what_is_built_for_another_model_than_the_exported_one_is_outside_with_it() -> None:
    """Each class is built once to see what it holds; that is no reason to take what it holds for exported."""
    holder = "from part import Part\nclass Holder(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    holder += "        self.part = Part()\n    def forward(self, x):\n        return self.part(x)\n"
    files = {"export.py": SCRIPT.replace("import Net", "import Net\nfrom other import Holder\nKINDS = [Net, Holder]")}
    files |= {"model.py": _net("Net").replace("-x", "self.unknown(x)"), "other.py": PRELUDE + holder}
    assert _outside({**files, "part.py": _net("Part")}) == {
        "model.py": "",
        "part.py": "no part of what is known to be exported at /nowhere/export.py:7",
    }


@pytest.mark.parametrize(("loaded", "outside"), [("torch.load(p)['model'].float().eval()", False), ("p", True)])
def test_a_whole_model_out_of_a_file_may_be_of_any_class(loaded: str, outside: bool) -> None:
    script = SCRIPT.replace("import Net", "import Net\nfrom other import Other")
    script = script.replace("main():\n", f"main(p):\n    kinds = [Other]\n    ensemble = [{loaded}]\n")
    files = {"export.py": script, "model.py": _net("Net").replace("-x", "self.unknown(x)"), "other.py": _net("Other")}
    assert bool(_outside(files)["other.py"]) is outside


@pytest.mark.parametrize(("parts", "outside"), [("[Conv, Other]", False), ("[Conv]", True)])
def test_a_class_that_a_configuration_names_may_be_a_part(parts: str, outside: bool, tmp_path: Path) -> None:
    script = SCRIPT.replace("import Net", "import Net\nfrom other import Other")
    script = script.replace("main():\n", "main():\n    kinds = [Other]\n")
    files = {"export.py": script, "model.py": _net("Net").replace("-x", "self.unknown(x)"), "other.py": _net("Other")}
    (tmp_path / "model.yaml").write_text(f"parts: {parts}\n")
    seen = analysed(written(files, tmp_path)).observations
    assert {bool(o.outside) for o in seen if isinstance(o, Branch) and o.span.path.endswith("other.py")} == {outside}


def test_an_arm_that_a_flag_keeps_from_exporting_counts_for_its_callers_too() -> None:
    """The caller leaves the flag at its default; what the arm exports is known from that caller."""
    script = "import torch\nfrom model import Net, Holder\n\ndef save(m, full=False):\n    if full:\n"
    script += "        torch.onnx.export(m, torch.zeros(1, 3), 'm')\n"
    script += "    torch.onnx.export(m.net.part, torch.zeros(1, 3), 'p')\n"
    script += "\ndef main():\n    save(Holder(Net()))\n"
    assert _by_class(script) == {"Part": False, "Net": True}
    assert _by_class(script, " + self.net(x)") == {"Part": False, "Net": False}


def test_a_module_imported_by_a_text_that_is_known_is_the_only_one() -> None:
    """`import_module("nets." + name)` with a constant for the name leads to that module alone."""
    script = "import torch\nfrom importlib import import_module\nNAME = 'one'\n\ndef main():\n"
    script += "    m = import_module('nets.' + NAME).Net()\n    torch.onnx.export(m, torch.zeros(1, 3), 'm')\n"
    files = {"export.py": script, "nets/__init__.py": "", "nets/one.py": _net("Net"), "nets/two.py": _net("Net")}
    assert _outside(files) == {"nets/one.py": "", "nets/two.py": "not reached from /nowhere/export.py:7"}


def _beyond(files: dict[str, str]) -> set[str]:
    """The names of the classes that no name leads to from the exports."""
    outside = Reach(list(project_of(files).modules.values())).outside()
    return {name.rpartition(":")[2] for name, why in outside.items() if why.startswith("not reached")}


@pytest.mark.parametrize(
    ("module", "beyond"), [("'nets.one'", {"Two"}), ("'library.nets'", {"One", "Two"}), ("name", set())]
)
def test_of_a_module_imported_by_a_literal_any_name_may_be_meant_and_of_no_other(module: str, beyond: set[str]) -> None:
    script = SCRIPT.replace("from model", "from importlib import import_module\nfrom model")
    script = script.replace("main():\n", f"main(name):\n    part = getattr(import_module({module}), name)\n")
    files = {"export.py": script, "model.py": _net("Net"), "nets/one.py": _net("One"), "nets/two.py": _net("Two")}
    assert _beyond({**files, "nets/__init__.py": ""}) == beyond


@pytest.mark.parametrize(("more", "beyond"), [("", {"Net"}), ("    net = base.Net()\n", set())])
def test_the_forward_of_a_class_that_an_exported_one_derives_from_and_replaces(more: str, beyond: set[str]) -> None:
    """Others may build that class; from the export nothing leads to its forward."""
    script = "import torch\nimport base\nfrom base import *\n\nclass Deployed(Net):\n    def forward(self, x):\n"
    script += f"        return -x\n\ndef main():\n{more}    torch.onnx.export(Deployed(), torch.zeros(1, 3), 'm')\n"
    train = "from base import Net\n\ndef train():\n    fit(Net())\n"
    assert _beyond({"export.py": script, "base.py": _net("Net"), "train.py": train}) == beyond


@pytest.mark.parametrize(
    ("last", "why"), [("", "it makes a dict for each element of the batch, and has no layers"), ("[0]", "")]
)
def test_a_class_that_makes_a_dict_of_each_element(last: str, why: str) -> None:
    """These are no outputs of a graph, and made so on purpose."""
    post = _net("Post").replace("return x", "x = x + 1")
    post = post.replace("return -x", f"results = [{{'box': box}} for box in x]\n        return results{last}")
    assert _outside({"model.py": _net("Model"), "post.py": post}) == {"model.py": "", "post.py": why}


def test_a_known_caller_leaves_the_opset_that_the_function_has_for_a_default() -> None:
    """What the caller gives is not known, so the default counts."""
    script = "import torch\nfrom model import Net\n\ndef write(m, opset):\n"
    script += "    torch.onnx.export(m, torch.zeros(1, 3), 'm', opset_version=opset)\n\n"
    script += "def save(m, opset=14):\n    write(m, opset)\n\ndef main(args):\n    save(Net(), args.opset)\n"
    seen = analysed(project_of({"model.py": _net("Net"), "export.py": script})).observations
    assert [(o.model, o.opset) for o in seen if isinstance(o, ExportCall)] == [("Net", 14)]


def test_what_only_a_function_for_another_format_makes_is_outside() -> None:
    files = {f"{name.lower()}.py": _net(name) for name in ("Flat", "Jit", "Both")}
    files["model.py"] = PRELUDE + (
        "from both import Both\nfrom flat import Flat\nfrom jit import Jit\n"
        "class Model(nn.Module):\n    def as_jit(self):\n        return Jit(), Both()\n"
        "    def as_onnx(self):\n        return Flat(), Both()\n    def forward(self, x):\n        return x\n"
    )
    script = "import torch\nfrom model import Model\ntorch.onnx.export(Model().as_onnx(), torch.ones(1, 4), 'm.onnx')\n"
    why = "built for another format than ONNX alone, by `Model.as_jit`"
    assert _outside({**files, "export.py": script}) == {"flat.py": "", "jit.py": why, "both.py": ""}


GRAPH = "it reads a graph object, which no exporter takes"
PROCESSES = "it exchanges tensors with other processes, and has no layers"


@pytest.mark.parametrize(
    ("first", "layer", "why"),
    [
        ('x = x + graph.ndata["position"]', "nn.Linear(3, 3)", GRAPH),
        ("with graph.local_scope():\n                x = graph.propagate(x)", "nn.Linear(3, 3)", GRAPH),
        ("x = x + graph.data", "nn.Linear(3, 3)", ""),
        ("torch.distributed.broadcast(x, graph)", "len", PROCESSES),
        ("dist.all_gather(graph, x)", "len", PROCESSES),
        ("dist.all_reduce(self.layer.weight)", "nn.Linear(3, 3)", ""),
        ("x = x + dist.scale", "len", ""),
    ],
)
def test_a_class_that_reads_what_no_export_has(first: str, layer: str, why: str) -> None:
    branch = f"if x.sum() > 0:\n            {first}\n"
    own = _net("Own").replace("forward(self, x)", "forward(self, x, graph)").replace("if x.sum() > 0:\n", branch)
    own = own.replace(
        "    def", f"    def __init__(self):\n        super().__init__()\n        self.layer = {layer}\n\n    def"
    )
    assert _outside({"model.py": _net("Net"), "own.py": own}) == {"model.py": "", "own.py": why}


@pytest.mark.parametrize(
    ("last", "why"),
    [
        ("y = -x", "its forward returns nothing"),
        ("y.update({'out': x})", "its forward returns nothing"),
        ("return -x", ""),
        ("x.update({'out': x})", ""),
    ],
)
def test_a_class_whose_forward_ends_with(last: str, why: str) -> None:
    tried = _net("Tried").replace("return x", "x = x + 1").replace("return -x", last)
    assert _outside({"model.py": _net("Model"), "tried.py": tried}) == {"model.py": "", "tried.py": why}


@pytest.mark.parametrize(
    ("own", "method", "outside"),
    [
        ("copy.deepcopy(net)", "torch.jit.script(self).save(path)", True),
        ("nn.Linear(3, 3)", "torch.jit.script(self).save(path)", False),
        ("copy.deepcopy(net)", "torch.jit.script(self.net).save(path)", False),
        ("copy.deepcopy(net)", "return torch.jit.script(self) if path else self.to_onnx()", False),
    ],
    ids=["itself", "itself, a model", "a part", "itself or to ONNX"],
)
def test_a_wrapper_that_scripts(own: str, method: str, outside: bool) -> None:
    maker = f"    def __init__(self, net):\n        super().__init__()\n        self.net = {own}\n"
    text = _net("Wrapper").replace(
        "    def forward", f"{maker}    def save(self, path):\n        {method}\n    def forward", 1
    )
    why = "it scripts itself for `torch.jit.load`, and nothing here exports it to ONNX"
    assert _outside({"model.py": f"import copy\n{text}"}) == {"model.py": why if outside else ""}


@pytest.mark.parametrize(
    "form",
    [
        "self.part = (Net if limit is None else Other)()",
        ("if limit is None:\n            self.part = Net()\n        else:\n            self.part = Other()"),
    ],
    ids=["a ternary", "an if"],
)
@pytest.mark.parametrize(
    ("passed", "more", "outside"),
    [("None", "", True), ("torch.load('n')", "", False), ("None", "parts = [Other]\n", True)],
    ids=["that the export does not take", "that it may take", "that something else names too"],
)
def test_a_class_in_an_arm(form: str, passed: str, more: str, outside: bool) -> None:
    whole = (
        f"from net import Net\nfrom other import Other\n{more}class Whole(nn.Module):\n"
        "    def __init__(self, model, limit=None):\n        super().__init__()\n"
        f"        self.model = model\n        {form}\n"
        "    def forward(self, x):\n        return self.part(self.model(x))\n"
    )
    script = SCRIPT.replace("import Net", "import Whole").replace("Net()", f"Whole(torch.load('w'), {passed})")
    files = {"model.py": PRELUDE + whole, "net.py": _net("Net"), "other.py": _net("Other"), "export.py": script}
    why = "`Whole` takes another in its place where it is exported"
    why = "no part of what is known to be exported at /nowhere/export.py:5" if more else why
    assert _outside(files) == {"net.py": "", "other.py": why if outside else ""}


def test_what_an_exported_model_runs_counts_as_exported_and_what_may_be_does_not() -> None:
    script = SCRIPT.replace("    torch.onnx", "    from other import Other\n    other = Other()\n    torch.onnx")
    files = {"export.py": script, "model.py": _net("Net"), "other.py": _net("Other")}
    seen = analysed(project_of(files)).observations
    exported = {
        (o.span.path.rpartition("/")[2], type(o)): o.exported for o in seen if isinstance(o, (Branch, ExportCall))
    }
    assert exported == {("export.py", ExportCall): True, ("model.py", Branch): True, ("other.py", Branch): False}


@pytest.mark.parametrize(
    ("user", "elsewhere", "apart"),
    [
        ("Discriminator", "", True),
        ("TextureLoss", "", True),
        ("Lips_disc_small", "", True),
        ("Discriminator", "\nclass Test_bands(unittest.TestCase):\n    bands = Bands\n", True),
        ("NetWithLoss", "", False),
        ("Encoder", "", False),
        ("Discriminator", "\nclass Net2(nn.Module):\n    bands = Bands\n", False),
    ],
)
def test_what_only_a_discriminator_or_a_loss_is_made_of_is_outside_with_it(
    user: str, elsewhere: str, apart: bool
) -> None:
    holds = "class {}(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.{} = {}()\n\n"
    whole = holds.format(user, "bands", "Bands") + "    def forward(self, x):\n        return self.bands(x)\n"
    test = "test_bands.py" if "Test" in elsewhere else "other.py"
    files = {
        "net.py": _net("Net"),
        "parts.py": _net("Bands"),
        "against.py": f"{PRELUDE}from parts import Bands\n\n{whole}",
        test: f"{PRELUDE}from parts import Bands\n{elsewhere}",
    }
    outside = _outside(files)
    assert (outside["net.py"], "only" in outside["parts.py"]) == ("", apart)


def test_a_model_of_a_tutorial_is_not_the_one_of_the_project() -> None:
    outside = _outside({"net.py": _net("Net"), "tutorials/own/tracker.py": _net("Tracker")})
    assert outside == {"net.py": "", "tutorials/own/tracker.py": "defined in a demo"}


@pytest.mark.parametrize(
    ("folder", "beside", "apart"),
    [
        ("pretrain", "", True),
        ("metrics", "", True),
        ("pretrained", "", False),  # models with their weights
        ("finetune", "from finetune.tuned import Tuned\n", False),  # it is put to use after it was trained
        ("finetune", None, False),  # there is no other model
    ],
)
def test_a_model_that_only_a_folder_of_training_names_is_not_the_one_of_the_project(
    folder: str, beside: str | None, apart: bool
) -> None:
    files = {f"{folder}/tuned.py": _net("Tuned"), "run.py": "" if beside is None else beside + _net("Net")}
    assert _outside(files)[f"{folder}/tuned.py"].startswith("in a folder of what trains") == apart


@pytest.mark.parametrize(("script", "apart"), [("predict.py", False), ("run_epochs.py", True)])
def test_a_script_that_infers_beside_a_trained_model_puts_it_to_use(script: str, apart: bool) -> None:
    use = "from finetune.tuned import Tuned\nmodel = Tuned().eval()\n"
    files = {"finetune/tuned.py": _net("Tuned"), f"finetune/{script}": use, "net.py": _net("Net")}
    assert (_outside(files)["finetune/tuned.py"] != "") == apart


def test_a_copy_of_another_project_is_outside_unless_an_export_comes_to_it() -> None:
    files = {"model.py": _net("Net"), "third_party/other.py": _net("Other")}
    assert _outside(files) == {
        "model.py": "",
        "third_party/other.py": "another project's code, which this one holds a copy of",
    }
    assert _outside({"third_party/other.py": _net("Other")}) == {"third_party/other.py": ""}
    script = SCRIPT.replace("from model import Net", "from third_party.other import Other as Net")
    assert _outside({**files, "export.py": script}) == {
        "model.py": "not reached from /nowhere/export.py:5",
        "third_party/other.py": "",
    }


@pytest.mark.parametrize(
    ("file", "copied"),
    [
        ("det/detectron2/layers/roi.py", True),
        ("detectron2/layers/roi.py", False),
        ("src/mmdet/models/head.py", False),
        ("src/tracker/mmdet/models/head.py", True),
        ("nets/ultralytics.py", False),
    ],
)
def test_a_well_known_library_is_a_copy_below_the_top_and_the_project_at_it(file: str, copied: bool) -> None:
    reason = "another project's code, which this one holds a copy of"
    assert _outside({"model.py": _net("Net"), file: _net("Other")})[file] == reason * copied


@pytest.mark.parametrize(
    ("file", "setup", "copied"),
    [
        ("det/projects/mask/head.py", "det/setup.py", True),
        ("det/projects/mask/head.py", "setup.py", False),
        ("seg/projects/mask/head.py", "det/setup.py", False),
    ],
)
def test_beside_a_library_and_its_setup_all_is_a_copy(file: str, setup: str, copied: bool) -> None:
    """The whole repository was copied, with its projects and tools."""
    files = {"model.py": _net("Net"), "det/detectron2/roi.py": _net("Roi"), setup: "import torch\n"}
    reason = "another project's code, which this one holds a copy of"
    assert _outside({**files, file: _net("Head")})[file] == reason * copied


@pytest.mark.parametrize(
    ("exported", "outside"),
    [
        (["self.encoder", "self.decoder"], "`save` exports its parts one by one"),
        (["self.encoder", "self"], ""),
        (["model"], ""),
    ],
)
def test_a_model_whose_parts_are_exported_one_by_one_is_not_exported_itself(exported: list[str], outside: str) -> None:
    calls = "".join(f"        torch.onnx.export({model}, torch.zeros(1, 3), 'm')\n" for model in exported)
    model = _net("Whole").replace("    def", f"    def save(self, model):\n{calls}    def", 1)
    assert _outside({"model.py": model, "net.py": _net("Net")})["model.py"] == outside


@pytest.mark.parametrize(
    ("file", "name", "outside"),
    [
        ("nets/losses/one.py", "One", True),
        ("nets/spec_aug/one.py", "One", True),
        ("nets/search.py", "BatchBeamSearch", True),
        ("nets/lossless.py", "One", False),
    ],
)
def test_losses_augmentations_and_searches_without_layers_are_outside(file: str, name: str, outside: bool) -> None:
    net = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    net += "        self.fc = nn.Linear(3, 3)\n"
    net += "    def forward(self, x):\n        return self.fc(x)\n"
    seen = _outside({"model.py": PRELUDE + net, file: _net(name)})
    assert bool(seen[file]) is outside


@pytest.mark.parametrize(
    ("layers", "outside"),
    [
        ("nn.ModuleDict()", "it searches with a model, run by run, and has no layers"),
        ("nn.LogSoftmax(dim=-1)  # not nn.Linear(3, 3)", "it searches with a model, run by run, and has no layers"),
        ("nn.ModuleDict({'fc': nn.Linear(3, 3)})", ""),
    ],
)
def test_a_search_holds_models_in_a_dict_of_its_own(layers: str, outside: str) -> None:
    init = f"(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.parts = {layers}\n"
    search = _net("BeamSearch").replace("(nn.Module):\n", init)
    assert _outside({"model.py": _net("Net"), "search.py": search})["search.py"] == outside


@pytest.mark.parametrize("name", ["WavFrontend", "AudioFeaturizer"])
@pytest.mark.parametrize(("does", "apart"), [("self.fbank(x)", True), ("self.conv(x)", False)])
def test_a_frontend_makes_features_of_recordings(does: str, apart: bool, name: str) -> None:
    frontend = _net(name).replace("return -x", f"return {does}")
    assert bool(_outside({"model.py": _net("Net"), "front.py": frontend})["front.py"]) is apart


@pytest.mark.parametrize("twin", ["NetExport", "NetForExport"])
def test_a_class_with_a_twin_for_exports_is_outside(twin: str) -> None:
    outside = _outside({"model.py": _net("Net"), "export_meta.py": _net(twin)})
    assert outside == {"model.py": f"`{twin}` is there for exports", "export_meta.py": ""}


def test_a_script_imports_the_module_beside_it_and_not_those_of_its_name_in_other_folders() -> None:
    files = {"a/export.py": SCRIPT, "a/model.py": _net("Net"), "b/model.py": _net("Net")}
    reach = Reach(list(project_of(files).modules.values()))
    assert [info.path for info, name in reach.seen if name == "Net"] == ["/nowhere/a/model.py"]


HELPER = """
import torch
__all__ = ["to_onnx"]

def to_onnx(model, example):
    torch.onnx.export(model, example, "m.onnx")
"""


@pytest.mark.parametrize(
    ("helper", "caller", "outside"),
    [
        (HELPER, "train.py", False),
        (HELPER.replace('["to_onnx"]', "[]"), "train.py", True),  # for its own scripts
        (HELPER, "lib/deploy.py", True),  # the package exports by itself
    ],
)
def test_a_function_that_a_package_offers_may_export_any_of_its_models(
    tmp_path: Path, helper: str, caller: str, outside: bool
) -> None:
    files = {
        "lib/__init__.py": "from .helper import to_onnx\n",
        "lib/helper.py": helper,
        "lib/one.py": _net("One"),
        "lib/two.py": _net("Two"),
        caller: "import torch\nfrom lib.helper import to_onnx\nfrom lib.one import One\n\ndef main():\n"
        "    to_onnx(One().eval(), torch.zeros(1, 3))\n",
    }
    seen = analysed(written(files, tmp_path)).observations
    apart = {Path(o.span.path).name: o.outside != "" for o in seen if isinstance(o, Branch)}
    assert apart == {"one.py": False, "two.py": outside}


PREPARING = """
import torch
from model import Net
from other import Other, load


def main():
    prepare = Other()
    seen = load("x.wav")
    model = Net({passed})
    torch.onnx.export(model.eval(), prepare(seen), "m")
"""
HOLDING = """\
    def __init__(self, part=None):
        super().__init__()
        self.part = part
    def forward(self, x):
        self.absent(x)
"""


@pytest.mark.parametrize(
    ("passed", "apart"),
    [
        ("", True),
        ("prepare", False),
        ("unknown(prepare)", False),
        ("[unknown(prepare)]", False),
        ("torch.nn.Sequential(unknown(prepare))", False),
    ],
)
def test_what_a_script_builds_beside_the_model_is_no_part_of_it_unless_the_model_may_hold_it(
    passed: str, apart: bool
) -> None:
    model = _net("Net").replace("    def forward(self, x):\n", HOLDING, 1)
    files = {"model.py": model, "other.py": _net("Other"), "export.py": PREPARING.format(passed=passed)}
    why = "no part of what is known to be exported at /nowhere/export.py:11"
    assert _outside(files) == {"model.py": "", "other.py": why if apart else ""}


def test_the_trace_keeps_the_control_flow_of_a_part_that_is_exported_scripted() -> None:
    whole = """
class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Net()
    def forward(self, x):
        return x * 2
    def export(self):
        self.part = torch.jit.script(self.part)
        torch.onnx.export(self.part, torch.zeros(1, 3), "m", dynamo=False)
"""
    why = "exported as a ScriptModule, which keeps its control flow"
    assert _outside({"model.py": _net("Net") + whole}) == {"model.py": why}
    assert _outside({"model.py": _net("Net") + whole.replace("torch.jit.script(self.part)", "self.part")}) == {
        "model.py": ""
    }


@pytest.mark.parametrize(("calls", "inside"), [("pick('nets.one')", ""), ("pick(sys.argv[1])", "nothing is known")])
def test_a_parameter_that_each_call_spells_out_imports_that_module(calls: str, inside: str) -> None:
    """Of what is imported by a computed name nothing is known; by a name that a call spells out, all."""
    script = (
        "import sys\nimport torch\nimport importlib\n\ndef pick(name):\n    return importlib.import_module(name).make()"
    )
    script += f"\n\ndef main():\n    torch.onnx.export({calls}, torch.zeros(1, 3), 'm')\n"
    outside = _outside({"e.py": script, "nets/one.py": _net("Net"), "other.py": _net("Other")})
    assert outside["nets/one.py"] == ""
    assert (outside["other.py"] == "") is bool(inside)


@pytest.mark.parametrize("given", ["model.inner", "part"])
def test_of_a_model_of_which_scripts_export_a_part_the_whole_is_not_exported(given: str) -> None:
    whole = PRELUDE + (
        "class Whole(nn.Module):\n    def __init__(self, inner):\n"
        "        super().__init__()\n        self.inner = inner\n"
        "    def forward(self, x):\n        if x.sum() > 0:\n            return self.inner(x)\n        return x\n"
    )
    script = "import torch\n\ndef main(path):\n    model = torch.load(path)\n    part = model.inner\n"
    script += f"    torch.onnx.export({given}.to('cpu'), torch.zeros(1, 3), 'm')\n"
    assert _outside({"e.py": script, "whole.py": whole}) == {"whole.py": "scripts export its `inner`"}


@pytest.mark.parametrize(("config", "reason"), [("Net", "registered under a name that nothing asks for"), ("", "")])
def test_a_registered_class_that_no_configuration_names(config: str, reason: str, tmp_path: Path) -> None:
    """Where none names any, names come from elsewhere."""
    nets = {
        f"{name.lower()}.py": _net(name).replace("class", "@MODELS.register_module()\nclass") for name in ("Net", "Old")
    }
    written(nets, tmp_path)
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "first.py").write_text(f"model = dict(type='{config}')\n")
    seen = analysed(written(nets, tmp_path)).observations
    outside = {o.span.path.rpartition("/")[2]: o.outside for o in seen if isinstance(o, Branch)}
    assert outside == {"net.py": "", "old.py": reason}
