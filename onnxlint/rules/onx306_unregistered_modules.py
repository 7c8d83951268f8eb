import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import HiddenModules
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, bare

_TEXT = (cst.SimpleString, cst.ConcatenatedString)


class UnregisteredModules(Rule):
    """Object to modules in a plain container."""

    changes_output = True

    def on_hidden_modules(self, node: Node, hidden: HiddenModules) -> Objections:
        better = "nn.ModuleDict" if hidden.container == "dict" else "nn.ModuleList"
        yield Objection(
            f"modules are kept in a plain {hidden.container}: `eval()`, `parameters()` and the exporters do not"
            " see them",
            f"wrap it in `{better}(...)`",
        )

    def fix(self, site: Site) -> Fix | None:
        """Unsafe: `eval()` then reaches the modules, and the state dict gains their weights."""
        kinds = (cst.List, cst.ListComp, cst.Dict, cst.DictComp)
        node = next((n for n in site.inside(cst.BaseExpression) if isinstance(n, kinds)), None)
        if node is None or isinstance(node, cst.DictComp):
            return None  # whether the keys of that one are text cannot be told
        if isinstance(node, cst.Dict) and not all(isinstance(getattr(e, "key", None), _TEXT) for e in node.elements):
            return None
        match site.parent(node):
            case cst.Assign([cst.AssignTarget(cst.Attribute())]) | cst.AnnAssign(cst.Attribute()):
                name = "ModuleDict" if isinstance(node, cst.Dict) else "ModuleList"
                container = f"{site.known_as('torch.nn') or 'torch.nn'}.{name}"
                new = site.expression(f"{container}({{modules}})", modules=bare(node))
                return site.fix(f"wrap it in `{container}(...)`", Safety.UNSAFE, site.replace(node, new))
        return None
