"""What a probe is doing right now, for who listens."""

from __future__ import annotations

from onnxlint.probes.common import stages


def test_stages_are_reported_to_the_listener_and_to_nobody_without_one() -> None:
    names: list[str] = []
    stages.stage("before")
    stages.listen(names.append)
    try:
        stages.stage(stages.BUILD)
        stages.stage("exporting with dynamo")
    finally:
        stages.listen(None)
    stages.stage("behind")
    assert names == [stages.BUILD, "exporting with dynamo"]
