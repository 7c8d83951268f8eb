"""A run over a project: parts, what an earlier run gave, and what was asked."""

from pathlib import Path

from analysing import PRELUDE

from onnxlint.base.cache import Store
from onnxlint.flow import analysis
from onnxlint.project.index import Index

MODEL = (
    PRELUDE
    + """
class M(nn.Module):
    def forward(self, x: Tensor):
        return x if x.sum() > 0 else -x
"""
)


def run(folder: Path, store: Store) -> list[str]:
    paths = sorted(folder.glob("*.py"))
    index = Index(store, {})
    index.read(paths)
    return [type(seen).__name__ for seen in analysis.analyse_files(index, analysis.Request(), store).observations]


def test_an_unchanged_project_gives_the_same_again(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(MODEL)
    store = Store(tmp_path / "cache")
    first = run(tmp_path, store)
    assert "Branch" in first
    assert run(tmp_path, store) == first
    (tmp_path / "m.py").write_text(MODEL.replace("x.sum() > 0", "self.training"))
    assert "Branch" not in run(tmp_path, store)


EXPORT = """
import torch
from m import M


class Known(torch.nn.Module):
    def forward(self, x):
        return self.unknown(x)


def main():
    kinds = [M]
    torch.onnx.export(Known().eval(), torch.zeros(1, 3), "k")
"""


def test_what_a_configuration_names_now_is_not_answered_from_an_earlier_run(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(MODEL)
    (tmp_path / "export.py").write_text(EXPORT)
    store = Store(tmp_path / "cache")

    def outside() -> set[bool]:
        index = Index(store, {})
        index.read(sorted(tmp_path.glob("*.py")))
        seen = analysis.analyse_files(index, analysis.Request(), store).observations
        return {bool(o.outside) for o in seen if type(o).__name__ == "Branch"}

    assert outside() == {True}
    (tmp_path / "net.yaml").write_text("parts: [M]")
    assert outside() == {False}
    assert outside() == {False}
    (tmp_path / "net.yaml").unlink()
    assert outside() == {True}


def test_a_file_that_another_one_is_generated_from_runs_by_itself_alone(tmp_path: Path) -> None:
    template, made = tmp_path / "modular_net.py", tmp_path / "modeling_net.py"
    template.write_text(MODEL)
    made.write_text("# This file was automatically generated from src/net/modular_net.py.\n# Do not edit.\n" + MODEL)

    def branches(*paths: Path) -> list[str]:
        index = Index(Store(None), {})
        index.read(paths)
        seen = analysis.analyse_files(index, analysis.Request(), Store(None)).observations
        return [o.span.path for o in seen if type(o).__name__ == "Branch"]

    assert [Path(path).name for path in branches(template, made)] == ["modeling_net.py"]
    assert [Path(path).name for path in branches(template)] == ["modular_net.py"]
    said = (
        "# The weights were generated from modular_net.py.\n",
        '"""This file was generated from modular_net.py."""\n',
        "# This file was generated from modeling_net.py.\n",
        "",
    )
    for head in said:
        made.write_text(head + MODEL)
        assert len(branches(template, made)) == 2
    template.write_text("# This file was generated from modeling_net.py.\n" + MODEL)
    made.write_text("# This file was generated from modular_net.py.\n" + MODEL)
    assert len(branches(template, made)) == 2
