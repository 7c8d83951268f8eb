"""Probe every architecture of this folder, keep what is found in `verdicts.json`, and show it in the README in short.

`python measure.py` probes what the data does not have yet; `python measure.py NAME...` probes these again, as in
`hf_text:bert`; `python measure.py --readme` only writes the README's excerpt. It needs the libraries that the modules
are named after, and no torchvision that loads: `operators.py` stands in for what torchvision has compiled.
"""

from __future__ import annotations

import argparse
import importlib
import json
import linecache
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from importlib import metadata
from itertools import zip_longest
from pathlib import Path
from typing import Any

from onnxlint.base.paths import package_path
from onnxlint.base.probe_records import Probe
from onnxlint.base.records import ModelReport
from onnxlint.config.settings import load_settings
from onnxlint.probes.schedule.plan import plan
from onnxlint.probes.schedule.pool import ProbePool

HERE = Path(__file__).parent
DATA = HERE / "verdicts.json"
README = HERE.parents[1] / "README.md"
BEGIN, END = "<!-- architectures -->", "<!-- end of architectures -->"
MODULES = {
    "hf_text": "transformers, text",
    "hf_vision": "transformers, vision",
    "hf_other": "transformers, audio, video, series, pairs",
    "hf_tasks": "transformers, detection, forecasting, encoders with decoders, recurrent",
    "from_timm": "timm",
    "from_vit_pytorch": "vit-pytorch",
    "from_diffusers": "diffusers",
    "from_ultralytics": "ultralytics",
    "from_segmentation": "segmentation-models-pytorch",
    "from_x_transformers": "x-transformers",
}
PACKAGES = (
    *("torch", "onnx", "onnxruntime", "transformers", "timm", "vit-pytorch", "diffusers", "ultralytics"),
    *("segmentation-models-pytorch", "x-transformers"),
)
LIMIT = 180  # seconds for one model
EXPORTERS = {"torchscript": "TorchScript", "dynamo": "dynamo"}

Record = dict[str, Any]


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", help="probe these again")
    parser.add_argument("--readme", action="store_true", help="probe nothing")
    options = parser.parse_args()
    data = read()
    if not options.readme:
        with tempfile.TemporaryDirectory() as folder, ProbePool() as pool:
            for probe in probes(Path(folder), options.names or [n for n in names() if n not in data["models"]]):
                began = time.monotonic()
                (result,) = pool.run([probe], jobs=1)
                data["models"][probe.name] = record(result.report, time.monotonic() - began)
                data["versions"] = {name: metadata.version(name) for name in PACKAGES}
                write(data)
                print(probe.name, json.dumps(data["models"][probe.name]), flush=True)
    text = README.read_text(encoding="utf-8")
    README.write_text(with_excerpt(text, data), encoding="utf-8")


def read() -> Record:
    """What is known."""
    found: Record = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {"versions": {}, "models": {}}
    return found


def write(data: Record) -> None:
    """Keep it, a model a line, in the order of the modules."""
    order = {module: number for number, module in enumerate(MODULES)}
    models = sorted(data["models"].items(), key=lambda item: (order[item[0].partition(":")[0]], item[0]))
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(found)}" for name, found in models)
    DATA.write_text(f'{{\n "versions": {json.dumps(data["versions"])},\n "models": {{\n{lines}\n }}\n}}\n', "utf-8")


def names() -> list[str]:
    """Every architecture, the modules by turns: a run that is ended early has seen all of them."""
    columns = [[f"{module}:{name}" for name in importlib.import_module(module).NETS] for module in MODULES]
    return [name for row in zip_longest(*columns) for name in row if name is not None]


def probes(folder: Path, wanted: list[str]) -> Iterator[Probe]:
    """The probes that onnxlint plans for a configuration which declares these models."""
    (folder / "onnxlint.toml").write_text("\n".join(declarations(wanted)), encoding="utf-8")
    settings, faults = load_settings(folder)
    assert not faults, faults
    yield from plan(settings, (), lambda _: ("", 0)).probes


def declarations(wanted: list[str]) -> Iterator[str]:
    """What a user would write."""
    yield f"timeout = {LIMIT}\nsource-roots = [{json.dumps(str(HERE))}]"
    for name in wanted:
        module, _, factory = name.partition(":")
        net = importlib.import_module(module).NETS[factory]
        yield f"[[models]]\nfactory = {json.dumps(name)}\ninputs = {_table(net.inputs)}"
        if net.ranges:
            yield f"ranges = {_table({k: list(v) for k, v in net.ranges.items()})}"


def _table(values: Record) -> str:
    return "{ " + ", ".join(f"{name} = {json.dumps(value)}" for name, value in values.items()) + " }"


def record(report: ModelReport, seconds: float) -> Record:
    """What is kept of a report; `seconds` is all that the probe took."""
    found: Record = {"seconds": round(seconds, 1)}
    if report.reason is not None:
        found["reason"] = report.reason
    for exporter, result in report.exporters.items():
        cell: Record = {"outcome": result.outcome.value, "seconds": round(result.seconds, 2)}
        if result.detail:
            cell["detail"] = result.detail.splitlines()[0][:300]
        place = result.location
        if place is not None:
            source = linecache.getline(place.path, place.line).strip()
            cell |= {"file": package_path(place.path), "line": place.line, "function": place.function, "source": source}
        found[exporter] = cell
    return found


def with_excerpt(readme: str, data: Record) -> str:
    """The README with the excerpt between its marks."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{excerpt(data)}\n{END}{after}"


def excerpt(data: Record) -> str:
    """How many architectures of each library come out right of each exporter, and the lines at fault most often."""
    lines = [
        "| Library | Models | " + " | ".join(EXPORTERS.values()) + " | Seconds, median |",
        "|---|---:|---|---|---:|",
    ]
    for module, title in MODULES.items():
        mine = [found for name, found in data["models"].items() if name.startswith(module + ":")]
        if mine:
            cells = " | ".join(_count(mine, exporter) for exporter in EXPORTERS)
            lines.append(f"| {title} | {len(mine)} | {cells} | {_median([found['seconds'] for found in mine]):.0f} |")
    return "\n".join(lines)


def _count(found: list[Record], exporter: str) -> str:
    """`12 right, 3 refused, 1 wrong`: what one exporter made of models."""
    kinds = Counter(_kind(model.get(exporter)) for model in found)
    return ", ".join(f"{kinds[kind]} {kind}" for kind in ("right", "refused", "wrong", "unknown") if kinds[kind])


def _kind(cell: Record | None) -> str:
    match cell["outcome"] if cell else None:
        case "ok":
            return "right"
        case "export-error":
            return "refused"
        case "wrong-values" | "shape-error" | "static-dim" | "runtime-error" | "nondeterministic":
            return "wrong"
        case _:
            return "unknown"


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    main()
