import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import InputReshape
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site


class InputReshaped(Rule):
    """Object to an in-place change of an input's shape."""

    def on_input_reshape(self, node: Node, call: InputReshape) -> Objections:
        yield Objection(
            f"`{call.text}` changes the shape of the input `{call.parameter}` itself: the file asks for another shape"
        )

    def fix_call(self, site: Site, call: cst.Call) -> Fix | None:
        """Unsafe: the caller's tensor keeps its shape then."""
        statement = site.parent(call)
        match call:
            case cst.Call(func=cst.Attribute(value=cst.Name() as tensor, attr=cst.Name(value=name)) as func):
                if not name.endswith("_") or not isinstance(statement, cst.Expr):
                    return None
                new = call.with_changes(func=func.with_changes(attr=cst.Name(name[:-1])))
                change = site.replace(statement, cst.Assign([cst.AssignTarget(tensor)], new))
                return site.fix(f"go on with what `{name[:-1]}` returns", Safety.UNSAFE, change)
        return None
