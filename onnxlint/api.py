"""The Python API: check files, or a model that exists already, and get the report as an object."""

import importlib.util
import os
import shutil
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from onnxlint.base import records
from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.records import EXPORTERS, Finding, ModelReport, ModelStatus, Outcome, Report, VerdictKind
from onnxlint.config.declared_models import ModelConfig
from onnxlint.config.rule_selectors import unknown_selector
from onnxlint.config.settings import Settings
from onnxlint.config.typed_values import FAIL_ON
from onnxlint.probes.live.snapshot_client import Captured, Snapshot
from onnxlint.report import render
from onnxlint.report.common import words
from onnxlint.run.dynamic_pass import DYNAMIC
from onnxlint.run.pipeline import run_check
from onnxlint.run.same_cause import one_per_cause
from onnxlint.run.scopes import Request, Scope, governing, scopes, with_writable_repro_dir
from onnxlint.run.session import run
from onnxlint.source.discover import Discovery
from onnxlint.source.parse import source_lines
from onnxlint.verdicts import failing

_SHOWN = 3  # failures that one line names
_COUNTED = {"confirmed": {VerdictKind.CONFIRMED}, "suspected": {VerdictKind.CONFIRMED, VerdictKind.SUSPECTED}}


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """What was found. `str()` of it is the report; a notebook shows it as HTML.

    `report` holds everything, `fail_on` says what counts (see `--fail-on`), and `ignored` are the codes that do not.
    """

    report: Report
    fail_on: str = "suspected"
    ignored: tuple[str, ...] = ()
    texts: Mapping[Path, bytes] = field(default_factory=dict)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings that count: no notes, nothing that was not reproduced, nothing ignored."""
        counted = (f for f in self.report.findings if f.verdict in _COUNTED[self.fail_on] and not self._ignores(f))
        return tuple(f for f in counted if f.severity is not records.Severity.NOTE)

    @property
    def models(self) -> tuple[ModelReport, ...]:
        """What became of every model."""
        return self.report.models

    @property
    def exporters(self) -> Mapping[str, records.ExporterResult]:
        """What each exporter made of the model; of the first one, where there are several."""
        return self.report.models[0].exporters if self.report.models else {}

    @property
    def ok(self) -> bool:
        """Whether nothing was found, every model was probed, and every export agreed with PyTorch.

        An export that fails for nothing but what is ignored is all right.
        """
        return not self.findings and not self._failures() and not self._errors()

    @property
    def sentence(self) -> str:
        """What is wrong, in one line for a log of tests; that nothing is, where nothing is."""
        failures = self._failures()
        faults = [text for text, _ in failures]
        at = {place for _, place in failures if place}
        faults += [f"{f.code} {f.verdict.value} at {_place(f)}" for f in self.findings if _place(f) not in at]
        faults = [*dict.fromkeys(faults), *self._errors()]
        more = [f"and {len(faults) - _SHOWN} more"] if len(faults) > _SHOWN else []
        return words.clean("; ".join([*faults[:_SHOWN], *more])) or "every export agrees with PyTorch"

    def __repr__(self) -> str:
        return f"<onnxlint.Result: {self.sentence}>"

    def about(self, findings: Collection[Finding]) -> Self:
        """The same with these findings alone, and all that was said of the models."""
        remaining = tuple(f for f in self.report.findings if f in findings)
        return replace(self, report=replace(self.report, findings=remaining))

    def _failures(self) -> list[tuple[str, str]]:
        """Every model and exporter that failed, in words, and the place of the finding that says why."""
        excused = {(e.model, e.exporter) for f in self.report.findings if self._ignores(f) for e in f.evidence}
        failures = []
        for model in self.models:
            if model.declared and model.status is ModelStatus.NOT_PROBED:
                failures.append((f"{model.name} was not probed: {model.reason}", ""))
            for name, result in model.exporters.items():
                if result.outcome in (Outcome.OK, Outcome.SKIPPED) or (model.name, name) in excused:
                    continue
                why = self._why(model.name, name)
                at = _place(why) if why is not None else ""
                reason = f" ({why.code} at {at})" if why is not None else f": {result.detail}"
                label = words.OUTCOME_LABELS[result.outcome]
                failures.append((f"{model.name}, {words.exporter_name(name)}: {label}{reason}", at))
        return failures

    def _why(self, model: str, exporter: str) -> Finding | None:
        pair = (model, exporter)
        told = (f for f in self.findings if any((e.model, e.exporter) == pair and failing(e) for e in f.evidence))
        return next(told, None)

    def _errors(self) -> list[str]:
        return [diagnostic.message for diagnostic in self.report.diagnostics if diagnostic.level == "error"]

    def _ignores(self, finding: Finding) -> bool:
        return any(finding.code.startswith(name) or finding.rule == name for name in self.ignored)

    def __str__(self) -> str:
        return self.text(width=shutil.get_terminal_size((100, 24)).columns)

    def text(self, *, width: int = 100, color: bool = False) -> str:
        """The report as `onnxlint check` prints it."""
        return self._rendered("full", width, color)

    def json(self) -> str:
        """The report as JSON, version 1."""
        return self._rendered("json", 100, False)

    def _rendered(self, form: str, width: int, color: bool) -> str:
        report = replace(self.report, findings=tuple(f for f in self.report.findings if not self._ignores(f)))
        look: dict[str, Any] = {"color": color, "width": width, "sources": partial(source_lines, overlay=self.texts)}
        return render(report, form, show_all=False, catalogue=load_catalogue(), **look)

    def _repr_html_(self) -> str:
        from onnxlint.report.formats.notebook import html

        return html(self.report, self.findings, self.ok, self.sentence)


def _place(finding: Finding) -> str:
    return f"{finding.span.path}:{finding.span.line}"


def check_paths(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], *, fail_on: str = "suspected", **settings: Any
) -> Result:
    """Check the files under `paths` as `onnxlint check` does, with the configuration that governs them.

    `settings` are fields of the configuration, such as `static_only=True`, `exporters=("dynamo",)`, `timeout=60`.
    Raises TypeError for one that does not exist, ValueError for a selector that no rule answers to.
    """
    several = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    return Result(_whole(run(scopes([Path(path) for path in several], _request(settings))).report), _fail_on(fail_on))


def check_declared(folder: Path, model: ModelConfig) -> Result:
    """Check the files under a folder, and of the models that their configuration declares this one."""
    declaring = [scope for scope in scopes([folder], _request({})) if model in scope.settings.models]
    alone = [replace(s, settings=replace(s.settings, models=(model,), only_models=(model.factory,))) for s in declaring]
    fail_on = "suspected" if any(s.settings.fail_on == "suspected" for s in declaring) else "confirmed"
    return Result(_whole(run(alone).report), fail_on)


def check_model(
    model: Any,
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic: Mapping[str, Mapping[int, str]] | None = None,
    exporters: str | Sequence[str] = EXPORTERS,
    opset: int | None = None,
    fail_on: str = "suspected",
    ignore: Sequence[str] = (),
    **settings: Any,
) -> Result:
    """Check a model that exists already, exported with these arguments.

    `args` is what `forward` is called with: a tuple, a single tensor, or a dict by parameter name. `dynamic` maps
    parameters to {axis: name of the dim}; without it axis 0 is the batch, with `{}` all sizes are fixed. `ignore`
    names rules that do not count. `settings` are fields of the configuration, such as `timeout` (seconds).
    The model is probed in processes forked from this one; it is not changed.
    Raises TypeError or ValueError for arguments that mean nothing, RuntimeError where there is nothing to probe with.
    """
    __tracebackhide__ = True
    missing = [name for name in DYNAMIC if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"{', '.join(missing)} not installed; pip install 'onnxlint[dynamic]'")
    wanted = (exporters,) if isinstance(exporters, str) else tuple(exporters)
    strangers = [name for name in wanted if name not in EXPORTERS]
    if strangers or not wanted:
        raise ValueError(f"exporters are {' and '.join(EXPORTERS)}, not {', '.join(strangers) or 'none'}")
    rules = {rule.code: rule.name for rule in load_catalogue().values()}
    faults = [fault for name in ignore if (fault := unknown_selector(name, rules))]
    if faults:
        raise ValueError("; ".join(faults))
    request = _request({**settings, "exporters": wanted} | ({} if opset is None else {"opset": opset}))
    live = importlib.import_module("onnxlint.probes.live.live_models")
    live.rehearse()
    snapshot = Snapshot(live.freeze(live.Call(model, args, kwargs or {}, wanted, opset, dynamic), sys._getframe(1)))
    try:
        capture = snapshot.capture
        governed, diagnostics = governing(Path(capture.files[0]) if capture.files else Path.cwd(), request)
        texts = {Path(path).resolve(): text.encode() for path, text in capture.texts.items()}
        files = tuple(Path(path) for path in (*capture.files, *capture.texts))
        asked = Scope(replace(governed, models=(), only_models=()), Discovery(files), diagnostics)
        (scope,), unkept = with_writable_repro_dir((asked,))
        unkept = tuple(replace(notice, level="warning") for notice in unkept)  # the model is not to blame
        captured = Captured((snapshot,), reached_only=True)
        report = run_check((), scope.settings, discovery=scope.discovery, overlay=texts, captured=captured)
    finally:
        snapshot.close()
    report = replace(_whole(report), diagnostics=(*diagnostics, *unkept, *report.diagnostics))
    if any(probed.status is ModelStatus.NOT_PROBED for probed in report.models):
        # What stands in a class that the model is made of: no run can tell what else it reaches.
        parts = model.modules() if hasattr(model, "modules") else ()
        classes = {cls.__name__ for part in parts for cls in type(part).__mro__}
        own = tuple(f for f in report.findings if not classes.isdisjoint(f.symbol.split(".")))
        report = replace(report, findings=own)
    return Result(report, _fail_on(fail_on), tuple(ignore), texts)


def assert_exportable(
    model: Any,
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic: Mapping[str, Mapping[int, str]] | None = None,
    exporters: str | Sequence[str] = EXPORTERS,
    opset: int | None = None,
    fail_on: str = "suspected",
    ignore: Sequence[str] = (),
    **settings: Any,
) -> Result:
    """Raise AssertionError with the report unless the model survives the export; see `check_model`."""
    __tracebackhide__ = True
    settings |= {"dynamic": dynamic, "exporters": exporters, "opset": opset, "fail_on": fail_on, "ignore": ignore}
    result = check_model(model, args, kwargs, **settings)
    if not result.ok:
        raise AssertionError(f"{result.sentence}\n\n{result.text()}")
    return result


def _whole(report: Report) -> Report:
    """A report that is finished: Ctrl-C in the middle of it is for the caller."""
    if report.interrupted:
        raise KeyboardInterrupt
    return one_per_cause(report)


def _fail_on(value: str) -> str:
    if value not in FAIL_ON:
        raise ValueError(f"fail_on is one of {', '.join(FAIL_ON)}, not `{value}`")
    return value


def _request(settings: Mapping[str, Any]) -> Request:
    fields = set(Settings.__dataclass_fields__) - {"root", "config_file", "origins", "models"}
    strangers = sorted(settings.keys() - fields)
    if strangers:
        raise TypeError(f"there is no setting {', '.join(f'`{name}`' for name in strangers)}")
    return Request(overrides=dict(settings), rules={r.code: r.name for r in load_catalogue().values()})
