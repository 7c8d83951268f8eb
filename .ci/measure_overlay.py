"""Measure what `onnxlint/flow/tables/overlay.json` says of each exporter, with the torch that runs this.

    python .ci/measure_overlay.py          # print each difference; exit 1 if there is one
    python .ci/measure_overlay.py --write  # record the version in every entry, and split off what differs

Each name of each entry with `measured` versions is called as in `overlay_samples.py`, exported with both exporters, run
on the example and on longer axes, and compared with eager, in a child process of its own. Review the diff.
"""

from __future__ import annotations

import argparse
import functools
import io
import json
import multiprocessing
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

OVERLAY = Path(__file__).resolve().parent.parent / "onnxlint" / "flow" / "tables" / "overlay.json"
TIMEOUT = 300.0  # seconds for one call and both exporters


def outcome(exporter: str, sample: Any) -> tuple[str, str]:
    """What one exporter makes of a sample, as contracts word it, and why."""
    import onnxruntime
    import torch
    from ops_agree import agree, outputs

    count = len(sample.inputs)
    module = sample.forward if isinstance(sample.forward, torch.nn.Module) else wrapped(sample.forward, count)
    module.eval()
    axes = [{a: torch.export.Dim.DYNAMIC for i, a in sample.dynamic if i == n} or None for n in range(count)]
    names = [f"input_{n}" for n in range(count)]
    file = io.BytesIO()
    torch.manual_seed(0)
    try:
        if exporter == "dynamo":
            shapes = tuple(axes) if sample.dynamic else None
            made = torch.onnx.export(module, fresh(sample.inputs), dynamo=True, opset_version=20, verbose=False,
                                     dynamic_shapes=shapes, input_names=names)  # fmt: skip
            assert made is not None
            made.save(file)
        else:
            dynamic = {names[n]: {a: f"d{n}{a}" for a in found} for n, found in enumerate(axes) if found}
            torch.onnx.export(module, fresh(sample.inputs), file, dynamo=False, opset_version=20, input_names=names,
                              dynamic_axes=dynamic)  # fmt: skip
    except Exception as error:  # noqa: BLE001 - whatever an exporter raises is a refusal
        return "export-error", f"{type(error).__name__}: {error}"
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    failed = "runtime-error"
    for inputs in (sample.inputs, longer(sample)) if sample.dynamic else (sample.inputs,):
        try:
            session = onnxruntime.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])
            fed = {i.name: inputs[names.index(i.name)].numpy() for i in session.get_inputs()}
            got = session.run(None, fed)
        except Exception as error:  # noqa: BLE001 - onnxruntime's exceptions have no common base but this
            return failed, str(error)
        want = outputs(module(*fresh(inputs)))
        for expected, given in zip(want, got, strict=True):
            if tuple(expected.shape) != given.shape:
                return "shape-error", f"{tuple(expected.shape)} became {given.shape}"
            same, detail = agree(expected, torch.as_tensor(given))
            if not same:
                return "wrong-values", detail
        failed = "shape-error"
    return "ok", ""


def wrapped(forward: Any, count: int) -> Any:
    """A module of one or two inputs, by name, as dynamo wants them."""
    import torch

    class One(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return forward(x)

    class Two(torch.nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return forward(x, y)

    return One() if count == 1 else Two()


def fresh(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copies, so that no export sees what another one wrote."""
    return tuple(t.clone() for t in inputs)


def longer(sample: Any) -> tuple[Any, ...]:
    """The inputs with longer dynamic axes."""
    found = list(fresh(sample.inputs))
    for place, axis in sample.dynamic:
        found[place] = found[place].repeat_interleave(sample.times, axis)
    return tuple(found)


def child(form: str, name: str, pipe: Any) -> None:
    """Measure one name and send what both exporters made of it."""
    import logging
    import os
    import warnings

    import overlay_samples
    import torch

    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    torch.set_num_threads(1)
    seen: dict[str, tuple[str, str]] = {}
    try:
        sample = overlay_samples.SAMPLES[form](name)
        for exporter in ("torchscript", "dynamo"):
            seen[exporter] = outcome(exporter, sample)
    except Exception as error:  # noqa: BLE001 - eager cannot run the sample: that is a mistake in it
        seen["sample"] = ("error", f"{type(error).__name__}: {error}")
    pipe.send(seen)


def measure(form: str, name: str) -> dict[str, tuple[str, str]]:
    """What both exporters make of one name, measured in a process of its own."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=child, args=(form, name, there))
    process.start()
    there.close()
    try:
        seen: dict[str, tuple[str, str]] = here.recv() if here.poll(TIMEOUT) else {"sample": ("error", "timeout")}
    except EOFError:
        seen = {"sample": ("error", "the process died")}
    process.kill()
    process.join()
    return seen


def render(entries: list[dict[str, Any]]) -> str:
    """The overlay as JSON with one entry to a line."""
    return "[\n" + ",\n".join(f" {json.dumps(entry, ensure_ascii=False)}" for entry in entries) + "\n]\n"


def split(entry: dict[str, Any], seen: dict[str, dict[str, str]], version: str) -> list[dict[str, Any]]:
    """The entry with the version where what was seen agrees with it, and a new one for each way of disagreeing."""
    groups: dict[tuple[tuple[str, str], ...], list[str]] = defaultdict(list)
    for name, outcomes in seen.items():
        groups[tuple(sorted(outcomes.items()))].append(name)
    own = tuple(sorted(expected(entry).items()))
    agreeing = groups.pop(own, [])
    versions = [v for v in entry["measured"] if v != version]
    found = []
    if agreeing:
        assumed = [v for v in entry.get("assumed", ()) if v != version]
        row = {**entry, "names": agreeing, "measured": sorted({*versions, version}), "assumed": assumed}
        found.append({field: value for field, value in row.items() if field != "assumed" or value})
    if versions and (rest := [name for name in entry["names"] if name not in agreeing]):
        found.append({**entry, "names": rest, "measured": versions})
    for key, names in groups.items():
        new = {**entry, "names": names, "outcomes": dict(reversed(key)), "source": "measured", "measured": [version]}
        found.append({field: value for field, value in new.items() if field != "seen"})
    return found


def expected(entry: dict[str, Any]) -> dict[str, str]:
    """What samples show of an entry: its outcomes, unless those are the ones of another form, which `source` names."""
    outcomes: dict[str, str] = entry.get("seen", entry["outcomes"])
    return outcomes


def main() -> int:
    """Measure every entry whose source is measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--write", action="store_true", help="record what was seen")
    parser.add_argument("--only", help="a form, or a name")
    parser.add_argument("--log", type=Path, help="write every outcome and its reason there")
    arguments = parser.parse_args()
    import overlay_samples  # imported once, in the parent of all
    import torch
    from torch.onnx._internal.exporter import _registration

    make = _registration.ONNXRegistry.from_torchlib.__func__
    _registration.ONNXRegistry.from_torchlib = classmethod(functools.cache(make))
    outcome("dynamo", overlay_samples.fixed(lambda x: x * 2, torch.ones(2)))  # what every export would load anew

    version = torch.__version__.split("+")[0]
    entries = json.loads(OVERLAY.read_text(encoding="utf-8"))
    known: dict[tuple[str, str], dict[str, tuple[str, str]]] = {}
    made: list[dict[str, Any]] = []
    different = 0
    for entry in entries:
        wanted = arguments.only is None or arguments.only in (entry["form"], *entry["names"])
        if not entry["measured"] or not wanted:
            made.append(entry)
            continue
        seen: dict[str, dict[str, str]] = {}
        for name in entry["names"]:
            key = (entry["form"], name)
            if key not in known:
                known[key] = measure(*key)
                if arguments.log:
                    with arguments.log.open("a", encoding="utf-8") as log:
                        log.write(json.dumps([*key, known[key]]) + "\n")
            if "sample" in known[key]:
                sys.stdout.write(f"{key}: {known[key]['sample'][1]}\n")
                different += 1
                continue
            seen[name] = {e: o for e, (o, _) in known[key].items() if o != "ok"}
            if seen[name] != expected(entry):
                different += 1
                why = {e: " ".join(text.split())[:160] for e, (_, text) in known[key].items() if text}
                sys.stdout.write(f"{key}: {seen[name]} instead of {expected(entry)}: {why}\n")
        sys.stdout.flush()
        made += split(entry, seen, version)
    if arguments.write:
        OVERLAY.write_text(render(merged(made)), encoding="utf-8")
    return int(bool(different) and not arguments.write)


def merged(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Entries that differ in their names alone, as one."""
    found: dict[str, dict[str, Any]] = {}
    for entry in entries:
        key = json.dumps({k: v for k, v in entry.items() if k != "names"}, sort_keys=True)
        kept = found.setdefault(key, {**entry, "names": []})
        kept["names"] += [name for name in entry["names"] if name not in kept["names"]]
    return list(found.values())


if __name__ == "__main__":
    sys.exit(main())
