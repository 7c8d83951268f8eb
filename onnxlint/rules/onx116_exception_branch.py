from onnxlint.flow.state.observations import Attempt
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class ExceptionBranch(Rule):
    """Object to a computation that an exception replaces by another one."""

    def on_attempt(self, node: Node, attempt: Attempt) -> Objections:
        yield Objection(
            f"the handler of {attempt.catches} replaces this computation by another one; the export keeps the example's"
        )
