import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import CompileCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, argument, bare, dotted


class CompiledPart(Rule):
    """Object to a part of the model that is scripted, traced or compiled by itself."""

    def on_compile_call(self, node: Node, call: CompileCall) -> Objections:
        yield Objection(
            f"`{call.op}` compiles a part of the model by itself: the TorchScript exporter cannot trace through it"
        )

    def fix_call(self, site: Site, call: cst.Call) -> Fix | None:
        """Safe: the same function, not compiled. The state dict loses the prefix that compiling puts in front."""
        part = argument(call, "model", 0) if dotted(call.func) == "torch.compile" else None
        if part is None:
            return None
        return site.fix("leave the part as it is", Safety.SAFE, site.replace(call, site.fitted(bare(part), call)))
