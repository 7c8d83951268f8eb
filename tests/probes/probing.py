"""Probes of the small models in `hazards.py` and its siblings, for the tests of the worker."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from onnxlint.base.probe_records import SYNTHESISED, Probe, ProbeResult
from onnxlint.base.records import EXPORTERS, Evidence

FOLDER = Path(__file__).parent
BATCH = {"x": {0: "batch"}}


def unknown(name: str, module: str = "guessed", timeout: float = 60.0) -> Probe:
    """The probe of a model that nobody described."""
    return Probe(
        name=f"{module}:{name}",
        factory=f"{module}:{name}",
        path=f"{module}.py",
        line=1,
        source=SYNTHESISED,
        inputs=None,
        dynamic={},
        sizes={},
        vary=None,
        exporters=EXPORTERS,
        opset=20,
        search_path=(str(FOLDER),),
        root=str(FOLDER),
        repro_dir="repro",
        timeout=timeout,
    )


def burn(seconds: float) -> None:
    """Use the CPU for that long."""
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def hazard(
    factory: str,
    folder: Path,
    inputs: str = "x23",
    dynamic: Mapping[str, Mapping[int, str]] = BATCH,
    vary: str | None = None,
    exporters: tuple[str, ...] = EXPORTERS,
    sizes: Mapping[str, tuple[int, ...]] | None = None,
    module: str = "hazards",
) -> Probe:
    """The probe of one of the models; counterexamples go to `folder`."""
    return Probe(
        name=f"{module}:{factory}",
        factory=f"{module}:{factory}",
        path=f"{module}.py",
        line=1,
        source="config",
        inputs=f"{module}:{inputs}",
        dynamic=dynamic,
        sizes=sizes or {},
        vary=f"{module}:{vary}" if vary else None,
        exporters=exporters,
        opset=20,
        search_path=(str(FOLDER),),
        root=str(FOLDER),
        repro_dir=str(folder),
    )


def outcomes(result: ProbeResult) -> dict[str, str]:
    """Outcome by exporter."""
    return {name: cell.outcome.value for name, cell in result.report.exporters.items()}


def lines(factory: str, mark: str = "# here", module: str = "hazards") -> list[int]:
    """The lines of a model that are marked."""
    found, inside = [], False
    for number, text in enumerate((FOLDER / f"{module}.py").read_text().splitlines(), 1):
        if text.startswith(("class ", "def ")):
            inside = text.split()[1].startswith((f"{factory}(", f"{factory}:"))
        if inside and text.rstrip().endswith((mark, mark.replace("# ", "# and "))):
            found.append(number)
    return found


def named(result: ProbeResult, exporter: str, module: str = "hazards") -> dict[int, list[Evidence]]:
    """Evidence of one exporter by the line that it names."""
    found: dict[int, list[Evidence]] = {}
    for evidence in result.evidence:
        if evidence.exporter == exporter:
            assert evidence.frames[0].path == f"{module}.py", evidence
            found.setdefault(evidence.frames[0].line, []).append(evidence)
    return found


def probed(factory: str, inputs: str, parameter: str, folder: Path, **changes: Any) -> ProbeResult:
    """What became of one of the models in `runtimes.py`."""
    from onnxlint.probes.process.worker import run_probe

    probe = hazard(factory, folder, dynamic={parameter: {0: "batch"}})
    return run_probe(replace(probe, factory=f"runtimes:{factory}", inputs=f"runtimes:{inputs}", **changes))
