"""An exported graph made ready to look at: the nodes of some source lines marked, and what stands around them.

`python -m onnxlint.probes.proof.graph_view SOURCE OUT` in a process of its own. SOURCE is an ONNX file, or a script
that exports one; it prints one line of JSON: the file to show and the names of the marked nodes, or what is wrong.
"""

import argparse
import contextlib
import json
import runpy
import sys
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path
from typing import Any
from unittest import mock

import onnx
import torch

from onnxlint.base.records import text_of
from onnxlint.probes.common.userspace import relative
from onnxlint.probes.exporters.graph import onnx_frames, subgraphs
from onnxlint.probes.exporters.torchscript import located_nodes

MARK = "▶ "
_STEPS = 3  # nodes away from a marked one that are shown


def marked(model: onnx.ModelProto, places: Collection[tuple[str, int]], names: Collection[str], root: str) -> list[str]:
    """Put the source line into the names of the nodes at some `places` or of some `names`, and return the new names.

    A node with the graph of an arm or of a loop's body stands for the lines of that too.
    """
    marked_names = []
    for node in model.graph.node:
        frames = [frame for one in _with_inner(node) for frame in onnx_frames(one, root)]
        at = next((f for f in frames if (f.path, f.line) in places), None)
        if at is not None or node.name in names:
            label = f"{at.path}:{at.line} " if at is not None else ""
            node.name = f"{MARK}{label}{node.name}"
            marked_names.append(node.name)
    return marked_names


def around(model: onnx.ModelProto, nodes: Collection[str], steps: int = _STEPS) -> onnx.ModelProto:
    """Cut the graph down to what is within so many steps of some nodes, with what leads in and out as its ends."""
    graph = model.graph
    sources = {value.name for value in (*graph.input, *graph.initializer)}
    made = {name: node for node in graph.node for name in node.output}
    users: dict[str, list[onnx.NodeProto]] = defaultdict(list)
    for node in graph.node:
        for name in _read(node):
            users[name].append(node)
    near = {id(node): node for node in graph.node if node.name in nodes}
    for _ in range(steps):
        for node in list(near.values()):
            before = [made[name] for name in _read(node) if name in made]
            for other in (*before, *(user for name in node.output for user in users[name])):
                near.setdefault(id(other), other)
    shown = [node for node in graph.node if id(node) in near]
    inside = dict.fromkeys(name for node in shown for name in node.output)
    read = dict.fromkeys(name for node in shown for name in _read(node) if name in made or name in sources)
    initializers = {tensor.name: tensor for tensor in graph.initializer if tensor.name in read}
    ends = {value.name for value in graph.output}
    left = [name for name in inside if name in ends or any(id(user) not in near for user in users[name])]
    types = {value.name: value for value in (*graph.input, *graph.output, *graph.value_info)}
    untyped = onnx.helper.make_empty_tensor_value_info
    inputs = [types.get(k) or untyped(k) for k in read if k not in inside and k not in initializers]
    outputs, inner_types = [types.get(k) or untyped(k) for k in left], [types[k] for k in inside if k in types]
    weights = list(initializers.values())
    part = onnx.helper.make_graph(shown, graph.name or "part", inputs, outputs, weights, value_info=inner_types)
    model.graph.Clear()  # no copy of weights that are not shown
    model.graph.CopyFrom(part)
    return model


def _with_inner(node: onnx.NodeProto) -> list[onnx.NodeProto]:
    return [node, *(inner for graph in subgraphs(node) for inner in graph.node)]


def _read(node: onnx.NodeProto) -> list[str]:
    """What a node reads: its inputs, and whatever else the graphs inside it name."""
    return [name for one in _with_inner(node) for name in one.input if name]


def exported(script: Path) -> onnx.ModelProto | None:
    """Run a script as it stands, and return the last file that it exports, its nodes with their source lines."""
    models: list[onnx.ModelProto] = []
    whole = torch.onnx.export

    def export(model: Any, args: Any = (), f: Any = None, **options: Any) -> Any:
        options["verbose"] = not options.get("dynamo", True)  # it writes the lines that dynamo writes anyway
        program = whole(model, args, f, **options)
        models.append(program.model_proto if program is not None else onnx.load(f))
        return program

    patched = mock.patch.multiple(sys, argv=[str(script)], stdout=sys.stderr)
    leaving = contextlib.suppress(SystemExit)  # with 1, where the disagreement shows
    with mock.patch.object(torch.onnx, "export", export), located_nodes(), patched, leaving:
        runpy.run_path(str(script), run_name="__main__")
    return models[-1] if models else None


def main() -> None:
    """Do what the command line asks for, and print what came of it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--place", action="append", default=[], help="PATH:LINE")
    parser.add_argument("--node", action="append", default=[])
    parser.add_argument("--whole", action="store_true")
    sys.stdout.write(json.dumps(_answer(parser.parse_args())) + "\n")


def _answer(asked: argparse.Namespace) -> dict[str, Any]:
    try:
        script = asked.source.suffix == ".py"
        model = exported(asked.source) if script else onnx.load(asked.source, load_external_data=False)
    except Exception as error:  # noqa: BLE001 - the user's script may raise anything, and a file may hold anything
        return {"fault": f"{asked.source}: {type(error).__name__}: {' '.join(text_of(error).split())[:300]}"}
    if model is None:
        return {"fault": f"{asked.source} exports no file: the exporter refuses this model"}
    root = str(Path.cwd())
    places = {(relative(path, root), int(line)) for path, _, line in (place.rpartition(":") for place in asked.place)}
    nodes = marked(model, places, asked.node, root)
    count = len(model.graph.node)
    part = around(model, nodes) if nodes and not asked.whole else model
    onnx.save(part, asked.out)
    return {"nodes": nodes, "shown": len(part.graph.node), "all": count}


if __name__ == "__main__":
    main()
