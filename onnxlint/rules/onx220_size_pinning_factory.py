import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import FactorySize
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, argument, dotted, has_star, keywords, tight


class SizePinningFactory(Rule):
    """Object to a factory function that takes its size for a number."""

    def on_factory_size(self, node: Node, seen: FactorySize) -> Objections:
        yield Objection(f"`{seen.op}` has no form for a dynamic size: `{seen.text}`", effects=seen.outcomes)

    def fix_call(self, site: Site, call: cst.Call) -> Fix | None:
        """Unsafe by a last digit: `linspace` counts from both ends, and one step alone would divide by zero."""
        if dotted(call.func) != "torch.linspace" or has_star(call):
            return None
        start, end, steps = (argument(call, name, at) for at, name in enumerate(("start", "end", "steps")))
        if start is None or end is None or steps is None:
            return None
        options = {name: value for name, value in keywords(call).items() if name not in ("start", "end", "steps")}
        if set(options) - {"device", "dtype"}:
            return None
        dtype = "" if "dtype" in options else ", dtype=torch.get_default_dtype()"
        ramp = f"torch.arange({{steps}}{dtype}{''.join(f', {name}={{{name}}}' for name in options)})"
        parts = {"high": tight(end), "count": tight(steps), "steps": steps, **options}
        if not _is(start, 0):
            parts["low"] = tight(start)
            template = f"{{low}} + ({{high}} - {{low}}) * {ramp} / ({{count}} - 1)"
        elif _is(end, 1):
            del parts["high"]
            template = f"{ramp} / ({{count}} - 1)"
        else:
            template = f"{{high}} * {ramp} / ({{count}} - 1)"
        new = site.fitted(site.expression(template, **parts), call)
        return site.fix("compute the values from `torch.arange`", Safety.UNSAFE, site.replace(call, new))


def _is(node: cst.BaseExpression, number: int) -> bool:
    return isinstance(node, (cst.Integer, cst.Float)) and node.evaluated_value == number
