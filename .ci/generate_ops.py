"""Make `onnxlint/flow/tables/ops-VERSION.json`, the operator table of the torch that runs this, from torch itself.

    python .ci/generate_ops.py            # write the table, and the others as what differs from the newest: seconds
    python .ci/generate_ops.py --check    # exit 1 if the shipped table differs from what would be written

Needs torch, onnxscript and onnxruntime. What an operator returns, reads, draws and aliases comes from torch's schemas,
tags and type stubs; what an exporter can lower comes from both exporters' registries and, where `.ci/ops_measured` has
a row, from measurement (`.ci/measure_ops.py`). What none of them says stands in `.ci/ops_facts.py`, by hand.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import onnxruntime
import onnxscript
import torch
import torch.nn.functional as F
from measure_ops import minor, number, rows_until
from ops_facts import CONDITIONS, FACTS
from ops_registries import lowering_of_body, registered
from ops_torch import (
    Row,
    callables,
    calls,
    canonical,
    dispatched,
    modules,
    observations,
    operator,
    overloads,
    packet,
    schema_returns,
    stub_returns,
)  # fmt: skip

ROOT = Path(__file__).resolve().parent.parent
FLOW = ROOT / "onnxlint" / "flow" / "tables"
EXPORTERS = ("torchscript", "dynamo")
SECTIONS = ("ops", "names")


@cache
def measured() -> dict[str, Any]:
    """What `.ci/measure_ops.py` saw with this torch, by public name; with the last one before where it saw nothing."""
    return rows_until(torch.__version__)


def take_measured(row: Row, seen: dict[str, Any], good_only: bool = False) -> None:
    """Replace the registries' word by what the exporters did on samples; with `good_only`, by what they managed."""
    row["complex"] = row["complex"] or seen.get("complex", False)
    row["random"] = row["random"] or seen.get("random", False)
    row["view"] = row["view"] or (seen.get("view", False) and not row["inplace"] and not row["random"])
    lowering, unless, wrong = dict(row["lowering"]), list(row.get("unless", ())), set(row.get("wrong", ()))
    for exporter in EXPORTERS:
        if exporter not in seen:
            continue
        cell = seen[exporter]
        if good_only and not cell["outcomes"].get("ok", 0) and lowering.get(exporter) is not None:
            continue
        lowering[exporter] = cell["lowest"]
        outcomes = cell["outcomes"]
        wrong.discard(exporter)
        if not row["random"] and outcomes.get("wrong", 0) and not outcomes.get("ok", 0):
            wrong.add(exporter)
        unless += [
            [exporter, when, outcome]
            for when, outcome in cell.get("unless", ())
            if not (row["random"] and outcome == "wrong") and exporter not in wrong
        ]
    row |= {"lowering": lowering, "unless": unless, "wrong": sorted(wrong)}


def row_of(qualified: str, value: Any) -> tuple[str, Row]:
    """The canonical name and the row of a function, method or property."""
    name = canonical(qualified, value)
    row: Row = {
        "reads_data": False,
        "data_shape": False,
        "random": False,
        "inplace": False,
        "view": False,
        "complex": False,
    }
    dispatch = dispatched(value)
    body = calls(dispatch[1] if dispatch else value) if inspect.isfunction(value) else []
    if packet(name) is not None:
        row |= observations(name)
        row["lowering"] = registered(name)
        if inspect.isfunction(value) and row["lowering"].get("torchscript") is None:
            del row["lowering"]["torchscript"]  # its own body may go another way
    else:
        row["random"] = any(observations(n)["random"] for n in body)
        row["lowering"] = lowering_of_body(body)
        if row["random"] and "training" in inspect.signature(value).parameters:
            row["only_if"] = {"random": "training=True"}
    returns, returns_if = stub_returns(qualified)
    if returns is None and packet(name) is not None:
        returns = next((schema_returns(o) for o in overloads(name)), None)
    row["returns"] = returns or "other"
    if dispatch and dispatch[0] == "return_indices":
        row["returns"], returns_if = "tensor", {"return_indices": "tensors"}
    if returns_if and qualified not in ("torch.where", "torch.Tensor.where"):
        row["returns_if"] = returns_if
    return name, row


def relatives(qualified: str) -> list[str]:
    """The names whose hand-written facts hold for a name: `torch.add` for `Tensor.add_` and `Tensor.__iadd__`."""
    owner, short = qualified.rsplit(".", 1)
    if owner != "torch.Tensor":
        return [qualified]
    base = operator(short) or short
    base = base if base.startswith("__") else base.removesuffix("_")
    return [f"torch.{base}", f"torch.Tensor.{base}", qualified]


def finish(qualified: str, row: Row, seen: dict[str, Any] | None, good_only: bool = False) -> None:
    """Add what was measured, then what is known by hand."""
    if seen is not None:
        take_measured(row, seen, good_only)
    by_hand: set[tuple[str, str, str]] = set()
    for name in relatives(qualified):
        row |= FACTS.get(name, {}) if name == qualified or not qualified.endswith("_") else {}
        by_hand.update(CONDITIONS.get(name, ()))
    row["unless"] = sorted(map(list, by_hand | {tuple(condition) for condition in row.get("unless", ())}))
    if "train=True" in row.get("only_if", {}).values() and qualified.startswith("torch.nn.functional."):
        row["only_if"] = {"random": "training=True"}
    if row["returns"] not in ("tensor", "tensors", "none"):
        row |= {"lowering": {}, "unless": [], "wrong": []}  # a Python value is not an operator


def module_row(cls: type[torch.nn.Module], rows: dict[str, Row]) -> tuple[str | None, Row]:
    """The public function that a module's forward is, if it is only one; and a row of its own otherwise."""
    bodies = [
        cls.forward,
        *(getattr(cls, n) for n in ("_conv_forward", "forward_impl", "forward_tensor") if hasattr(cls, n)),
    ]
    names = list(dict.fromkeys(n for body in bodies for n in calls(body)))
    public = [f"torch.nn.functional.{n}" if hasattr(F, n) else f"torch.{n}" for n in names]
    public = [p for p in public if p in rows]
    if len(public) == 1:
        return public[0], dict(rows[public[0]])
    annotation = str(inspect.signature(cls.forward).return_annotation)
    row: Row = {"reads_data": False, "data_shape": False, "inplace": False, "view": False, "complex": False}
    row["random"] = any(rows[p]["random"] for p in public)
    if row["random"]:
        row["only_if"] = {"random": "training=True"}
    row["returns"] = (
        "tensors" if re.search(r"tuple", annotation, re.IGNORECASE) or issubclass(cls, torch.nn.RNNBase) else "tensor"
    )
    row["lowering"] = lowering_of_body(names) if public else {}
    return None, row


def packed(row: Row) -> Row:
    """A row as it is shipped: false flags, empty notes and unknown exporters left out."""
    flags = ("reads_data", "data_shape", "random", "inplace", "view", "complex")
    out: Row = {"returns": row["returns"]}
    if on := [flag for flag in flags if row.get(flag)]:
        out["flags"] = on
    only_if = {flag: text for flag, text in row.get("only_if", {}).items() if flag in on}
    if only_if:
        out["only_if"] = only_if
    for key in ("returns_if", "lowering", "unless", "wrong"):
        if row.get(key):
            out[key] = row[key]
    return out


def build() -> dict[str, Any]:
    """The whole table: `versions`, `ops` (canonical name → row) and `names` (public name → canonical name)."""
    rows: dict[str, Row] = {}
    ops: dict[str, Row] = {}
    names: dict[str, str] = {}

    def put(qualified: str, name: str, row: Row) -> None:
        row = packed(row)
        if ops.setdefault(name, row) != row:
            name = qualified
            ops[name] = row
        names[qualified] = name

    found = [(qualified, *row_of(qualified, value)) for qualified, value in callables()]
    by_name: dict[str, Any] = {}
    for qualified, name, _ in found:
        if qualified in measured():
            by_name.setdefault(name, measured()[qualified])
    for qualified, name, row in found:
        plain = by_name.get(name.removesuffix("_"))  # an in-place form fares as the plain one, which has more samples
        if name.endswith("_") and plain is not None:
            take_measured(row, {key: cell for key, cell in plain.items() if key in EXPORTERS})
        own = None if operator(qualified.rsplit(".", 1)[1]) else measured().get(qualified)
        seen = own or by_name.get(name) or plain
        finish(qualified, row, seen, good_only=name.endswith("_") and plain is not None)
        rows[qualified] = row
        put(qualified, name, row)
    for qualified, cls in modules():
        target, row = module_row(cls, rows)
        finish(qualified, row, measured().get(qualified), good_only=target is not None)
        put(qualified, names[target] if target else qualified, row)
    versions = {"torch": torch.__version__.split("+")[0], "onnxscript": onnxscript.__version__,
                "onnxruntime": onnxruntime.__version__}  # fmt: skip
    return {"versions": versions, "ops": dict(sorted(ops.items())), "names": dict(sorted(names.items()))}


def render(table: dict[str, Any]) -> str:
    """The table as JSON with one operator, and one name, to a line."""
    lines = ['{"versions": ' + json.dumps(table["versions"], sort_keys=True) + ","]
    for section, last in (("ops", ","), ("names", "")):
        body = ",\n".join(
            f" {json.dumps(k)}: {json.dumps(v, sort_keys=True, separators=(',', ':'))}"
            for k, v in table[section].items()
        )
        lines.append(f'"{section}": {{\n{body}\n}}{last}')
    return "\n".join(lines) + "}\n"


def main() -> int:
    """Write the table, or with --check compare it with the shipped one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 on a difference")
    arguments = parser.parse_args()
    table, kept = build(), shipped()
    own = minor(torch.__version__)
    if arguments.check:
        return int(own not in kept or render(kept[own]) != render(table))
    kept[own] = table
    newest = max(kept, key=number)
    for version, whole in kept.items():
        text = render(whole if version == newest else difference(whole, kept[newest]))
        (FLOW / f"ops-{version}.json").write_text(text, encoding="utf-8")
    return 0


def shipped() -> dict[str, dict[str, Any]]:
    """Every shipped table, whole."""
    paths = {path.stem.removeprefix("ops-"): path for path in FLOW.glob("ops-*.json")}
    read = {version: json.loads(path.read_text(encoding="utf-8")) for version, path in paths.items()}
    newest = read[max(read, key=number)] if read else {}
    for version, table in read.items():
        for section in SECTIONS if table is not newest else ():
            changed = newest[section] | table[section]
            read[version][section] = {key: row for key, row in sorted(changed.items()) if row is not None}
    return read


def difference(table: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """What a table has otherwise than `base`; null for what it does not have."""
    out = {"versions": table["versions"]}
    for section in SECTIONS:
        here, there = table[section], base[section]
        out[section] = {k: here.get(k) for k in sorted({*here, *there}) if here.get(k) != there.get(k)}
    return out


if __name__ == "__main__":
    sys.exit(main())
