"""Every model of fixtures/faults through the pool and the real worker: each says its cause, and costs nobody else."""

import os

import pytest
from faulty import copy_to, declared, make_probe

from onnxlint.probes.pool import ProbePool
from onnxlint.records import ModelStatus, Outcome

pytestmark = pytest.mark.slow

LIMITS = {
    "eats_memory": {"memory": 1 << 30},
    "hangs_in_c": {"timeout": 4},
    "hangs_in_init": {"timeout": 4},
    "hangs_in_python": {"timeout": 4},
    "hangs_when_traced": {"timeout": 20},
}
NOT_PROBED = {  # what the reason says, and the line that it names
    "exits_on_import": ("sys.exit('usage: train.py DATA')", 8),
    "hangs_in_init": ("did not finish within 4 s while building the model", 13),
    "not_a_module": ("dict", 16),
    "raises_in_init": ("ValueError: width must be even", 11),
    "raises_on_import": ("RuntimeError: the weights are not on this machine", 6),
}
DEATHS = {  # outcome, what the detail says, the line that it names
    "aborts": (Outcome.CRASH, "killed by SIGABRT (abort), saying `terminate called after throwing", 16),
    "closes_descriptors": (Outcome.CRASH, "closed the file descriptors of its process", None),
    "eats_memory": (Outcome.CRASH, "exceeded the memory limit of 1.0 GiB", 15),
    "exits_in_forward": (Outcome.CRASH, "called `sys.exit(3)`", 15),
    "hangs_in_c": (Outcome.TIMEOUT, "did not finish within 4 s", 15),
    "hangs_in_python": (Outcome.TIMEOUT, "did not finish within 4 s", (14, 15)),
    "leaves_in_forward": (Outcome.CRASH, "ended itself with exit status 0", 15),
    "segfaults": (Outcome.CRASH, "killed by SIGSEGV (segmentation fault)", 15),
    "signals_its_parent": (Outcome.CRASH, "the fork server ended", None),
}
RIGHT = {"changes_directory", "healthy", "leaves_a_child", "prints_megabytes", "writes_to_descriptors"}
OTHER = {"hangs_when_traced", "mutates_itself"}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """The report of every faulty model, probed in one run, two at a time."""
    root = copy_to(tmp_path_factory.mktemp("faults") / "models")
    before = os.getcwd()
    probes = [make_probe(root, name, **LIMITS.get(name, {})) for name in sorted(declared())]
    with ProbePool() as pool:
        found = {result.report.name.partition(":")[0]: result for result in pool.run(probes, jobs=2)}
    assert os.getcwd() == before
    return found


def test_every_fault_is_told_and_expected(reports):
    assert reports.keys() == declared().keys()
    assert reports.keys() == NOT_PROBED.keys() | DEATHS.keys() | RIGHT | OTHER


@pytest.mark.parametrize("name", sorted(RIGHT))
def test_a_model_that_is_right_in_the_end_is_reported_in_full(reports, name):
    report = reports[name].report
    assert report.status is ModelStatus.PROBED
    assert {e: r.outcome for e, r in report.exporters.items()} == {"torchscript": Outcome.OK, "dynamo": Outcome.OK}
    assert reports[name].evidence == ()
    assert {"torch", "onnx", "onnxruntime"} <= reports[name].versions.keys()
    assert f"{name}.py" in reports[name].reached


@pytest.mark.parametrize("name", sorted(NOT_PROBED))
def test_a_model_that_cannot_be_built_says_why_and_where(reports, name):
    report = reports[name].report
    words, line = NOT_PROBED[name]
    assert report.status is ModelStatus.NOT_PROBED
    assert words in report.reason
    assert f"({name}.py:{line})" in report.reason
    assert report.declared
    assert (report.path, report.line) == (f"{name}.py", 1)  # where the probe says that the model is


@pytest.mark.parametrize("name", sorted(DEATHS))
def test_a_model_that_dies_names_the_cause_the_stage_and_the_line(reports, name):
    outcome, words, line = DEATHS[name]
    report = reports[name].report
    assert report.status is ModelStatus.PROBED
    assert report.exporters.keys() == {"torchscript", "dynamo"}
    for result in report.exporters.values():
        assert result.outcome is outcome
        assert words in result.detail
        assert "while running" in result.detail
        if line is not None:
            assert result.location.path == f"{name}.py"
            assert result.location.line in (line if isinstance(line, tuple) else (line,))


def test_a_hang_in_one_exporter_leaves_the_other_its_verdict(reports):
    exporters = reports["hangs_when_traced"].report.exporters
    assert exporters["dynamo"].outcome is Outcome.OK
    assert exporters["torchscript"].outcome is Outcome.TIMEOUT
    assert "while exporting with torchscript" in exporters["torchscript"].detail
    assert exporters["torchscript"].location.line in (15, 16)


def test_a_model_that_mutates_itself_is_told_so_at_the_line(reports):
    report = reports["mutates_itself"].report
    assert report.status is ModelStatus.PROBED
    assert Outcome.OK not in {result.outcome for result in report.exporters.values()}
    assert any(f.path == "mutates_itself.py" for e in reports["mutates_itself"].evidence for f in e.frames[:1])
