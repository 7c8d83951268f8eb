"""Which side is wrong: every stage from eager PyTorch to the runtimes answers one input; who agrees with whom."""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx.reference
import onnxruntime
import torch

from onnxlint.base.probe_records import Probe
from onnxlint.base.records import EXPORTER_NAMES, OPENVINO, Fault, Sides
from onnxlint.probes.common import numerics, stages
from onnxlint.probes.common.costs import TooLong, cut_off
from onnxlint.probes.confirm.engines import ORT, RuntimeRefused, Setup
from onnxlint.probes.confirm.runtime import Runtime
from onnxlint.probes.confirm.trials import Confirmation, Trial, bounds_of, expected
from onnxlint.probes.exporters import Export, first_line
from onnxlint.probes.exporters.dynamo import call_form
from onnxlint.probes.exporters.torchscript import arguments, traced_alone
from onnxlint.probes.observe.eager import Eager, Run

PYTORCH = "PyTorch"
REFERENCE = "ONNX reference"
CAPTURED = {"torchscript": "traced graph", "dynamo": "exported program"}
_SECONDS = 3.0  # for the reference evaluator: it is written in Python
_SHARE = 0.2  # of the time that is left for all searches
_LARGEST = 256 * 1024 * 1024  # bytes of a file that it is given


@dataclass(slots=True)
class _Answers:
    """What each side answered; `refused` says why one did not, `unknown` why one could not be asked."""

    outputs: dict[str, list[Any]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)


def sides(
    probe: Probe, eager: Eager, confirmation: Confirmation, trial: Trial | None, *, branches: bool = False
) -> Sides | None:
    """Who agrees with whom on the input of a trial, or on the example, where the file was refused; None if all do.

    `branches` tells that the model is known to take another branch while it is exported than in PyTorch.
    """
    runtime = confirmation.runtime
    if runtime is None or (trial is not None and trial.calls != 1) or eager.random or confirmation.random:
        return None
    stages.stage(f"asking every side of the {confirmation.export.exporter} export for its answer")
    run = eager.base if trial is None else trial.run
    answers = _Answers({PYTORCH: list(run.outputs)})
    try:
        feeds = confirmation.feeds(run)
    except RuntimeRefused:
        return None  # an input that the arguments do not have: no side could be asked
    _captured(eager, confirmation.export, run, answers)
    setups = _runtimes(confirmation, feeds, answers)
    _reference(runtime, feeds, answers, eager.costs.left(_SECONDS, _SHARE))
    bounds, wide = bounds_of(probe, eager), numerics.reference(eager.inference(), run.args, run.kwargs)

    def same(answer: Sequence[Any], other: Sequence[torch.Tensor]) -> bool:
        return numerics.difference(answer, other, wide if other is run.outputs else None, bounds) is None

    groups = _groups(answers, run, same)
    if all(setup.title in groups[0] for setup in setups):
        return None
    state = run is eager.base, bool(eager.mutated), branches, confirmation.fixed(eager.base, run), trial is not None
    fault, advice = _judge(_Case(confirmation.export.exporter, *state), answers, groups[0], setups)
    return Sides(groups, answers.refused, answers.unknown, fault, advice)


def _groups(answers: _Answers, run: Run, same: Callable[[Any, Any], bool]) -> tuple[tuple[str, ...], ...]:
    """The sides with the same answer together, PyTorch's first."""
    groups: list[tuple[Sequence[torch.Tensor], list[str]]] = [(run.outputs, [PYTORCH])]
    for side, answer in answers.outputs.items():
        if side == PYTORCH:
            continue
        mine = expected(len(answer), run)  # with the Python numbers of eager's, where the other side gives them too
        home = next((names for one, names in groups if same(answer, mine if one is run.outputs else one)), None)
        if home is None:
            groups.append(([numerics.tensor(value) for value in answer], [side]))
        else:
            home.append(side)
    return tuple(tuple(names) for _, names in groups)


def _captured(eager: Eager, export: Export, run: Run, answers: _Answers) -> None:
    """What the exporter made of the model before it wrote ONNX, run by PyTorch."""
    side, program, call = CAPTURED[export.exporter], export.program, eager.call(run)
    if export.exporter == "dynamo" and program is None:
        answers.unknown[side] = "the exporter did not hand it out"
        return
    with warnings.catch_warnings(action="ignore"), torch.no_grad():
        if program is not None:
            call = call_form(call)
            args, kwargs = call.args, call.kwargs
            captured: Callable[..., Any] = program.module()
        else:
            model, kwargs = eager.fresh(), {}
            try:
                captured, around = traced_alone(model.eval(), eager.example)
            except Exception as error:  # noqa: BLE001 - the exporter can trace more than torch.jit.trace takes
                answers.unknown[side] = f"torch.jit.trace does not take the model alone: {first_line(error)}"
                return
            args = around.tensors(arguments(model, call)[0])
        try:
            answers.outputs[side] = numerics.tensors(captured(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - a guard, a size: it is an answer
            answers.refused[side] = first_line(error)


def _runtimes(confirmation: Confirmation, feeds: Mapping[str, Any], answers: _Answers) -> list[Setup]:
    """Every runtime that was asked for, and ONNX Runtime on the CPU in any case: a witness more."""
    runtime = confirmation.loaded
    every = [*runtime.engines, *([confirmation.refusing.engine] if confirmation.refusing is not None else [])]
    asked = Runtime(runtime.path, every if any(engine.name == ORT.name for engine in every) else [*every, ORT])
    for setup in asked.setups:
        try:
            answers.outputs[setup.title] = asked.run(feeds, setup)
        except RuntimeRefused as refused:
            answers.refused[setup.title] = str(refused)
    return asked.setups


def _reference(runtime: Runtime, feeds: Mapping[str, Any], answers: _Answers, seconds: float = _SECONDS) -> None:
    size = sum(os.path.getsize(entry) for entry in runtime.path.parent.iterdir() if entry.is_file())
    if size > _LARGEST:
        answers.unknown[REFERENCE] = f"the file of {size // 1024**2} MB is too large for an evaluator in Python"
        return
    if any(isinstance(value, onnxruntime.OrtValue) for value in feeds.values()):
        answers.unknown[REFERENCE] = "numpy has no bfloat16"
        return
    try:
        with cut_off(seconds), warnings.catch_warnings(action="ignore"):
            answers.outputs[REFERENCE] = onnx.reference.ReferenceEvaluator(str(runtime.path)).run(None, dict(feeds))
    except TooLong:
        answers.unknown[REFERENCE] = f"the reference evaluator, which is Python, took more than {seconds:.1f} s"
    except Exception as error:  # noqa: BLE001 - it lacks operators and types, and fails in as many ways
        if answers.refused and isinstance(error, ValueError):  # a size: as the others say
            answers.refused[REFERENCE] = first_line(error)
        else:
            answers.unknown[REFERENCE] = f"the reference evaluator failed: {first_line(error)}"


@dataclass(frozen=True, slots=True)
class _Case:
    """What else decides who is at fault; `fixed` are Python numbers that the graph keeps from the example."""

    exporter: str
    on_example: bool
    mutates: bool
    branches: bool
    fixed: Sequence[str]
    loads: bool


def _judge(case: _Case, answers: _Answers, mine: tuple[str, ...], setups: Sequence[Setup]) -> tuple[Fault, str]:
    """Who is at fault, and what to do about it in one sentence: the first side on the way that leaves PyTorch."""
    captured = CAPTURED[case.exporter]
    if case.fixed and captured not in mine and REFERENCE not in mine:
        what = f"an export fixes Python arguments, here `{case.fixed[0]}`"
        return Fault.USE, f"{what}: export a file for each value, or pass a tensor"
    if captured not in mine and (captured in answers.outputs or captured in answers.refused):
        return _judge_capture(case, refused=captured in answers.refused)
    return _judge_file(case, answers, mine, setups)


def _judge_capture(case: _Case, *, refused: bool) -> tuple[Fault, str]:
    """Who is at fault where what the exporter made of the model, before there is any ONNX, differs from it."""
    captured, name = CAPTURED[case.exporter], EXPORTER_NAMES[case.exporter]
    report = f"report it to PyTorch ({name} exporter)"
    if case.mutates:
        return Fault.MODEL, "forward changes the model, which a graph does not do: pass that state in and out"
    if case.on_example and case.branches:
        what = f"the model asks what it is called with, and goes another way in {name} than in PyTorch"
        return Fault.MODEL, f"{what}: change that condition"
    if case.on_example:
        what = f"the {captured} differs from the model on the very input it was made from"
        return Fault.EXPORTER, f"{what}: {report}, and write the line otherwise meanwhile"
    if refused:
        advice = "change the model so that it holds for every input, or do not export that dimension as dynamic"
        return Fault.MODEL, f"the {captured} refuses this input, and the ONNX file has lost that check: {advice}"
    return Fault.MODEL, f"the {captured} is wrong as well, before there is any ONNX: change the model here"


def _judge_file(case: _Case, answers: _Answers, mine: tuple[str, ...], setups: Sequence[Setup]) -> tuple[Fault, str]:
    """Who is at fault behind the capture: tried in the other runtimes first, then in ONNX's own evaluator."""
    right, all_wrong = [s for s in setups if s.title in mine], [s for s in setups if s.title not in mine]
    captured, name, wrong = CAPTURED[case.exporter], EXPORTER_NAMES[case.exporter], all_wrong[0]
    openvino, who = wrong.engine.name == OPENVINO, wrong.engine.title
    owner = "OpenVINO (openvinotoolkit/openvino)" if openvino else "microsoft/onnxruntime"
    others = dict.fromkeys(setup.engine.title for setup in right if setup.engine.title != who)
    if others:
        return Fault.RUNTIME, f"the file is right, {' and '.join(others)} answers as PyTorch does: report it to {owner}"
    if right and all(setup.optimized for setup in all_wrong):
        advice = f"turn them off (`graph_optimization_level`), and report it to {owner}"
        return Fault.OPTIMIZER, f"only {who}'s optimizations change the answer: {advice}"
    if REFERENCE in mine:
        what = "cannot run it" if wrong.title in answers.refused else "answers otherwise"
        what = f"the file is right, ONNX's own evaluator answers as PyTorch does, and {who} {what}"
        return Fault.RUNTIME, f"{what}: report it to {owner}, or use other operators or types"
    if REFERENCE in answers.outputs and captured in mine:
        advice = f"report it to PyTorch ({name} exporter), and try the other exporter meanwhile"
        return Fault.EXPORTER, f"the {captured} is right and the ONNX file is not, whoever runs it: {advice}"
    if REFERENCE in answers.outputs:
        return Fault.UNKNOWN, "whoever runs the file gets this: the model or the exporter is at fault, not the runtime"
    if captured in mine and not case.loads:
        advice = f"use other operators or types here, another opset, or ask {owner} for it"
        return Fault.RUNTIME, f"ONNX's checker takes the file, and {who} does not: {advice}"
    if captured in mine:
        suspects = f"the exporter's translation or {who} is at fault"
        return Fault.UNKNOWN, f"the {captured} is right: {suspects}, and nobody else could be asked"
    return Fault.UNKNOWN, "too few of the sides could be asked to tell who is at fault"
