"""The table models × exporters, and the models that were not probed, with the reason and the remedy."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from onnxlint.base.records import EXPORTERS, ModelReport, ModelStatus, Outcome
from onnxlint.report.common import words

_SHORT = 160  # cells of the reason why a model that nobody declared was not probed


def model_table(models: Sequence[ModelReport], *, seconds: bool = True, latency: bool = True) -> Table:
    """One row per probed model: `✓ ok` or `✗` what went wrong, the line at fault and the `seconds` of the export.
    `latency` adds the runtime's over eager's, for each exporter in their order."""
    probed, exporters = _probed(models)
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, show_edge=False, border_style="dim")
    table.add_column("model", overflow="fold", min_width=16)
    for exporter in exporters:
        table.add_column(words.exporter_name(exporter), overflow="fold", min_width=14)
    latency &= any(_ratio(model, name) for model in probed for name in exporters)
    if latency:
        table.add_column("time / eager's", no_wrap=True)
    for model in probed:
        cells = [_cell(model, name, seconds) for name in exporters]
        if latency:
            cells.append(Text(" · ".join(_ratio(model, name) or "–" for name in exporters)))
        table.add_row(Text(words.model_name(model)), *cells)
    return table


def slower(models: Sequence[ModelReport]) -> Iterator[Text]:
    """Each export that is slower than eager PyTorch, and what takes the time."""
    for model in _probed(models)[0]:
        for exporter, result in model.exporters.items():
            if slowness := words.slowness(result):
                line = Text(words.model_name(model), "bold").append(f", {words.exporter_name(exporter)}: ", "none")
                yield line.append(words.clean(slowness), "none")


def _ratio(model: ModelReport, exporter: str) -> str:
    result = model.exporters.get(exporter)
    return "" if result is None or result.latency is None else f"{result.latency.ratio:.2f}×"


def model_list(models: Sequence[ModelReport]) -> Iterator[Text]:
    """The same as a list, for where the table does not fit."""
    probed, exporters = _probed(models)
    for model in probed:
        yield Text.styled(words.model_name(model), "bold")
        for exporter in exporters:
            yield Text(f"  {words.exporter_name(exporter):<11}  ").append_text(_cell(model, exporter))


def model_line(model: ModelReport) -> Text:
    """The same of one model in a line; why, where it was not probed."""
    line = Text.styled(words.model_name(model), "bold")
    if model.status is ModelStatus.NOT_PROBED:
        return line.append(f"  – not probed: {words.clean(model.reason or '')}", style="yellow")
    for exporter in (name for name in EXPORTERS if name in model.exporters):
        line.append(f"  {words.exporter_name(exporter)} ").append_text(_cell(model, exporter))
    return line


def unprobed(models: Sequence[ModelReport]) -> Iterator[Text]:
    """Each model that was not probed: the reason, then the lines of configuration that would let us."""
    waiting = [model for model in models if model.status is ModelStatus.NOT_PROBED]
    if not waiting:
        return
    yield Text.styled("Not probed", "bold yellow")
    for model in sorted(waiting, key=lambda model: model.assumed is not None):
        head = Text.styled("  – ", "yellow").append(words.model_name(model), style="bold")
        if model.path:
            head.append(f"  {words.visible(model.path)}:{model.line}", style="cyan")
        if model.assumed is not None:  # we tried, and nobody had asked: a line is enough
            yield head.append("  " + words.cut(words.plain(model.reason or ""), _SHORT), style="dim")
            continue
        yield head
        yield Text("    " + words.clean(model.reason or words.NO_REASON))
        if model.remedy:
            yield Text.styled("    to probe it:", "dim")
            for line in model.remedy.splitlines():
                yield Text.styled("      " + words.visible(line.rstrip()), "green")
    if any(model.assumed is not None for model in waiting):
        yield Text.styled("    `onnxlint init` writes the configuration to start from", "dim")
    yield Text("")


def assumptions(models: Sequence[ModelReport]) -> Iterator[Text]:
    """The inputs that nobody declared, as configuration would declare them."""
    guessed = [m for m in models if m.status is ModelStatus.PROBED and m.assumed is not None and m.assumed.inputs]
    if not guessed:
        return
    yield Text.styled("Assumed inputs", "bold").append(" (`onnxlint init` writes them as configuration)", style="dim")
    for model in guessed:
        inputs = ", ".join(f"{name}: {spec}" for name, spec in words.assumed_inputs(model).items())
        yield Text("  ").append(words.model_name(model), style="bold").append("  " + words.clean(inputs), "none")
        if sizes := words.assumed_sizes(model):
            yield Text.styled("    PyTorch takes also " + words.clean(sizes), "dim")
    yield Text("")


def _probed(models: Sequence[ModelReport]) -> tuple[list[ModelReport], list[str]]:
    """The probed models and the exporters that any of them has a result for."""
    probed = [model for model in models if model.status is ModelStatus.PROBED]
    return probed, [name for name in EXPORTERS if any(name in model.exporters for model in probed)]


def _cell(model: ModelReport, exporter: str, seconds: bool = True) -> Text:
    result = model.exporters.get(exporter)
    if result is None or result.outcome is Outcome.SKIPPED:
        return Text.styled("– skipped", "dim")
    label = words.OUTCOME_LABELS[result.outcome]
    good = result.outcome is Outcome.OK
    cell = Text.styled("✓ " if good else "✗ ", "bold green" if good else "bold red")
    cell.append(label, style="green" if good else "red")
    took = words.seconds(result.seconds) if seconds and result.seconds else ""
    notes = filter(None, (words.clean(words.short_place(result.location)), took))
    return cell.append("".join(f" · {note}" for note in notes), style="dim")
