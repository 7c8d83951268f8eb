import libcst as cst

from onnxlint.flow.state.observations import SmallAddend
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import call_name

_NOT_ZERO = frozenset(("log", "log2", "log10", "rsqrt", "reciprocal"))
_QUOTIENTS = frozenset(("div", "divide", "true_divide"))
_GOES_ON = frozenset(("sqrt", "float", "to", "clone", "unsqueeze", "expand", "expand_as", "detach"))
_CHOSEN = ("topk", "top_k", "top_scores")  # by a router, out of the scores of a softmax or a sigmoid: none is zero

# Squares of weights or of a random latent, none of which is zero: of a modulated convolution, and the norm of a latent.
_OF_WEIGHTS = tuple(f".sum({name}{axes})" for name in ("", "dim=", "axis=") for axes in ("[2, 3, 4]", "(2, 3, 4)"))
_OF_LATENTS = ("PixelNorm", "pixel_norm", "2nd_moment")


class LostAddend(Rule):
    """Object to a number that dynamo's optimizer leaves out, where it keeps a divisor or a logarithm from zero."""

    def on_small_addend(self, node: Node, seen: SmallAddend) -> Objections:
        never = any(text in seen.text for text in (*_CHOSEN, *_OF_WEIGHTS))
        if not never and not any(name in seen.symbol for name in _OF_LATENTS) and self._guards(node):
            message = f"dynamo's optimizer drops the small number, so this may be zero in its file: `{seen.text}`"
            yield Objection(message, about="small numbers", among="file")

    def _guards(self, node: cst.CSTNode) -> bool:
        """True where this becomes a divisor or the argument of a logarithm, or a variable that is no root."""
        root = False
        while (above := self.parent(node)) is not None:
            match above:
                case cst.BinaryOperation(operator=cst.Divide(), right=right) if right is node:
                    return True
                case cst.BinaryOperation(left, cst.Power(), exponent) if left is node:
                    if isinstance(exponent, cst.UnaryOperation):
                        return True
                    root = True
                case cst.AugAssign():
                    return isinstance(above.operator, cst.DivideAssign)
                case cst.Call() if call_name(above) in _NOT_ZERO:
                    return True
                case cst.Call() if call_name(above) in _QUOTIENTS:
                    return node is [a for a in above.args if a.keyword is None or a.keyword.value == "other"][-1]
                case cst.Call() if call_name(above) in _GOES_ON:
                    root |= call_name(above) == "sqrt"
                case cst.Assign() | cst.AnnAssign():
                    return not root
                case cst.Arg() | cst.Attribute():
                    pass
                case _:
                    return False
            node = above
        return isinstance(node, cst.AugAssign)
