from collections.abc import Sequence

import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import ExportCall, ModeReader
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, argument

MOST = 2  # classes and kinds of layers that a message names
KINDS = {"Dropout": "dropout", "InstanceNorm": "instance norm"}


class ExportWithoutEval(Rule):
    """Object to the export of a model that nobody put in eval mode."""

    changes_output = True

    def on_export_call(self, node: Node, call: ExportCall) -> Objections:
        if call.mode != "train" or not call.mode_matters:
            return
        if call.training is None and call.api != "torch.export.export":
            message = f"`{call.model}` is exported without `eval()`: {_difference(call.mode_matters)}"
            yield Objection(message, about=f"train mode of {call.model}")

    def fix_call(self, site: Site, call: cst.Call) -> Fix | None:
        """Unsafe: what dropout and batch norm compute changes, which is the point."""
        model = argument(call, "model", 0) or argument(call, "mod", 0)
        statement = site.statement(call)
        if model is None or statement is None:
            return None
        new = site.expression("{model}.eval()", model=model)
        if isinstance(model, cst.Call):
            return site.fix("call `.eval()` on the model", Safety.UNSAFE, site.replace_whole(model, new))
        line, column = site.tree.range(statement)[0]
        if not isinstance(model, (cst.Name, cst.Attribute)) or site.page.line(line)[: column - 1].strip():
            return None
        title = f"call `{site.tree.code(new)}` before the export"
        return site.fix(title, Safety.UNSAFE, site.insert_before(statement, cst.Expr(new)))


def _difference(differing: Sequence[ModeReader]) -> str:
    """What differs in training mode: classes that ask for it first, then layers."""
    asking = [f"`{part.name}`" for part in differing if not part.layer]
    layers = [part.name for part in differing if part.layer]
    kinds = (next((words for name, words in KINDS.items() if name in layer), f"`{layer}`") for layer in layers)
    staying = list(dict.fromkeys(kinds))
    reads = [f"{_listed(asking)} read{'s'[: len(asking) < 2]} `self.training`"] if asking else []
    stays = [f"{_listed(staying)} stay{'s'[: len(staying) < 2]} in training mode"] if staying else []
    return ", and ".join([*reads, *stays])


def _listed(words: Sequence[str]) -> str:
    *first, last = [*words[:MOST], *["others"][: len(words) > MOST]]
    return f"{', '.join(first)} and {last}" if first else last
