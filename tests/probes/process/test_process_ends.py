"""What is said of a probe whose process did not end as it should."""

from __future__ import annotations

import os
import signal
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from probing import hazard, unknown

from onnxlint.base.probe_records import Probe, ProbeResult
from onnxlint.base.records import Cause, ExporterResult, Location, ModelReport, ModelStatus, Outcome
from onnxlint.probes.common import stages, userspace
from onnxlint.probes.process import process_ends
from onnxlint.probes.process.process_ends import Death, by_signal, is_internal, raised_frames, result_of

AT = Location("hazards.py", 7, "M.forward")
KILLED = Death(Outcome.CRASH, "the process was killed by SIGSEGV", "exporting with dynamo", (AT,))
LATE = Death(Outcome.TIMEOUT, "the process did not finish within 2 s", stages.BUILD, (AT,))


@pytest.fixture
def probe(tmp_path: Path) -> Probe:
    return hazard("Gate", tmp_path)


def test_the_trace_of_the_current_thread_comes_first_and_torch_is_left_out() -> None:
    trace = textwrap.dedent("""\
        Thread 0x01 (most recent call first):
          File "/models/other.py", line 3 in loop

        Current thread 0x02 (most recent call first):
          File "<string>", line 1 in f
          File "/models/sub/gate.py", line 12 in forward
          File "/models/build.py", line 5 in build
        """)
    assert process_ends.trace_frames(trace, "/models") == (
        Location("sub/gate.py", 12, "forward"),
        Location("build.py", 5, "build"),
    )
    assert process_ends.trace_frames("Fatal Python error: Aborted\n", "/models") == ()


def test_a_signal_is_named_with_what_it_means_and_one_without_a_name_by_its_number() -> None:
    assert by_signal(signal.SIGSEGV) == "the process was killed by SIGSEGV (Segmentation fault)"
    assert by_signal(signal.SIGUSR1) == "the process was killed by SIGUSR1 (User defined signal 1)"
    assert by_signal(signal.SIGRTMIN + 1) == f"the process was killed by signal {signal.SIGRTMIN + 1}"


def test_an_error_is_ours_unless_code_of_the_user_s_stands_inside_of_ours() -> None:
    user, ours, library = ("/m/net.py", 3, "forward"), (userspace.__file__, 5, "f"), (os.__file__, 9, "mkdir")
    assert not is_internal([library, user, ours])
    assert is_internal([library, ours, user])
    assert is_internal([library])  # nobody of the user's is in it
    assert raised_frames([library, user, ours, ("/n/a.py", 1, "g")], "/m") == (
        Location("net.py", 3, "forward"),
        Location("/n/a.py", 1, "g"),
    )


def test_an_exporter_in_which_the_process_died_has_the_death_and_the_other_keeps_its_result(probe: Probe) -> None:
    fine = ExporterResult(Outcome.OK)
    report = ModelReport(probe.name, probe.path, probe.line, ModelStatus.PROBED, exporters={"torchscript": fine})
    result = result_of(probe, ProbeResult(report, versions={"torch": "2"}), KILLED)
    detail = "the process was killed by SIGSEGV while exporting with dynamo"
    assert result.report.exporters == {"torchscript": fine, "dynamo": ExporterResult(Outcome.CRASH, detail, AT)}
    assert result.report.status is ModelStatus.PROBED
    assert result.versions == {"torch": "2"}
    (evidence,) = result.evidence
    assert (evidence.exporter, evidence.cause, evidence.frames) == ("dynamo", Cause.REFUSED, (AT,))
    assert result.notices == ()


def test_a_death_before_the_exports_is_why_there_was_no_probe_and_more_time_is_the_remedy(probe: Probe) -> None:
    report = result_of(probe, None, LATE).report
    assert report.status is ModelStatus.NOT_PROBED
    assert report.declared
    assert report.reason == "the process did not finish within 2 s while building the model (hazards.py:7)"
    assert report.remedy is not None
    assert "--timeout" in report.remedy
    assert result_of(probe, None, replace(LATE, outcome=Outcome.CRASH)).report.remedy is None


def test_inputs_that_we_made_up_prove_no_hang_outside_of_an_export() -> None:
    eager = replace(LATE, stage="running eagerly on the example")
    assert result_of(unknown("Gate"), None, eager).report.status is ModelStatus.NOT_PROBED
    assert result_of(unknown("Gate"), None, KILLED).report.status is ModelStatus.PROBED


def test_a_death_that_is_ours_is_an_error_of_the_run_and_further_ways_cost_nothing(probe: Probe) -> None:
    (fault,) = result_of(probe, None, replace(KILLED, internal=True)).notices
    assert (fault.level, fault.path) == ("error", "hazards.py")
    assert fault.message.endswith("; please report it")
    done = ProbeResult(ModelReport(probe.name, probe.path, probe.line, ModelStatus.PROBED))
    assert result_of(probe, done, replace(KILLED, stage=stages.WAYS)) is done
