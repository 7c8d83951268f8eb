from collections.abc import Sequence

import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import ModeSwitch
from onnxlint.rules.engine.cst_tree import walk
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, is_name, same

_INHERITED = cst.parse_expression("super().eval")


class TrainModeForced(Rule):
    """Object to modules put in train mode where the model is meant to run in eval mode."""

    changes_output = True

    def on_mode_switch(self, node: Node, switch: ModeSwitch) -> Objections:
        where = {
            "forward": "forward puts modules in train mode",
            "eval": "the overridden mode switch leaves modules in train mode",
            "build": "modules are put back in train mode after the model is built",
        }
        yield Objection(f"{where[switch.where]}: `{self.source(node)}`")

    def fix(self, site: Site) -> Fix | None:
        """Unsafe: what the modules compute changes, which is the point."""
        site = site.in_class()
        node = next((n for n in site.inside(cst.Expr) if _is_switch(n)), None) or site.at_span(cst.CSTNode)
        statement = site.statement(node) if node is not None else None
        if statement is None:
            return None
        if _is_switch(statement):
            if site.holder(statement, cst.For) is not None or site.function(statement) is None:
                return None
            return site.fix("leave the modules in the mode they are in", Safety.UNSAFE, site.remove(statement))
        function = statement if isinstance(statement, cst.FunctionDef) else site.function(statement)
        return _without_override(site, function) if function is not None else None


def _is_switch(node: cst.CSTNode) -> bool:
    """`modules.train()`, `modules.train(True)`."""
    match node:
        case cst.Expr(cst.Call(cst.Attribute(attr=cst.Name("train")), args)):
            return all(is_name(a.value, "True") and a.keyword is None and not a.star for a in args)
    return False


def _without_override(site: Site, function: cst.FunctionDef) -> Fix | None:
    """An `eval()` that calls the inherited one and then undoes it: the inherited one does alone."""
    block = site.parent(function)
    cls = site.parent(block) if block is not None else None
    if function.name.value != "eval" or not isinstance(block, cst.IndentedBlock) or not isinstance(cls, cst.ClassDef):
        return None
    inherits = any(isinstance(n, cst.Call) and same(n.func, _INHERITED) for n in walk(function))
    if function.decorators or len(block.body) == 1 or not inherits:
        return None
    first = block.body[0] is function
    blank: Sequence[cst.EmptyLine] = (block.body[1] if first else function).leading_lines  # type: ignore[attr-defined]
    if site.comments(*blank, *getattr(function.body, "footer", ())):
        return None
    return site.fix("leave out the override: `eval()` means eval mode", Safety.UNSAFE, site.remove(function, *blank))
