import libcst as cst

from onnxlint.base.records import EXPORTERS, Fix, Outcome, Safety, Severity
from onnxlint.flow.state.observations import RandomDraw, StandIn
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, argument, bare, dotted, is_loaded, keywords, literal, names_in, tight
from onnxlint.rules.helpers.export_edits import named
from onnxlint.rules.helpers.stand_ins import missing_operator
from onnxlint.rules.helpers.work_saving_branches import asking

_TITLE = "draw in training only"
_STRENGTHS = ("temperature", "noise_scale", "noise_scale_w", "length_noise_scale", "noise_level", "noise_strength")
_ADDED = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide)


class RandomInForward(Rule):
    """Object to a random draw in what is exported."""

    changes_output = True

    def on_random_draw(self, node: Node, draw: RandomDraw) -> Objections:
        source = "Python's or numpy's generator, once, while it is traced" if draw.source == "python" else "a generator"
        meant = draw.latent or self._is_sampling(node)
        refused = draw.exporters_with(Outcome.EXPORT_ERROR)
        end = f"{named(refused)} cannot lower that" if refused else "the graph cannot give eager's numbers"
        message = f"`{self.source(node)}` draws from {source}; {end}"
        effects = {e: draw.outcomes.get(e, Outcome.NONDETERMINISTIC) for e in EXPORTERS} if refused else None
        advice = "make the noise an input: the model is meant to sample" if meant else ""
        severity = Severity.NOTE if meant and not refused else None  # what is meant has to be lowered, too
        yield Objection(message, advice, severity=severity, effects=effects, about="random draws", among="class")

    def on_stand_in(self, node: Node, call: StandIn) -> Objections:
        if Outcome.NONDETERMINISTIC in call.results:
            yield missing_operator(call)

    def _is_sampling(self, node: cst.CSTNode) -> bool:
        """Whether who runs the model says how strong the noise is: then it is meant to be there."""
        outer = self.parent(node)
        while isinstance(outer, (cst.Attribute, cst.Call, cst.BinaryOperation)):
            if isinstance(outer, cst.BinaryOperation) and not isinstance(outer.operator, (cst.Multiply, cst.Divide)):
                break
            node, outer = outer, self.parent(outer)
        return any(name in _STRENGTHS for name in names_in(node))

    def fix_call(self, site: Site, call: cst.Call) -> Fix | None:
        """Unsafe: in eval mode the output is no longer random, which is the point."""
        mean, branch, changing = _mean(site, call), asking(site, call), _changing(site, call)
        owner = site.owner(call) if mean or branch or changing else None
        if owner is None:
            return None
        if mean is not None and _is_noise(site, call):
            new = site.expression(f"{{draw}} if {owner}.training else {{mean}}", draw=bare(call), mean=mean)
            return site.fix(_TITLE, Safety.UNSAFE, site.replace(call, site.fitted(new, call)))
        if branch is not None and not (isinstance(branch, cst.If) and branch.orelse):
            test = branch.test
            part = test.with_changes(lpar=(), rpar=())  # which stay around all of it
            part = tight(part) if isinstance(test, (cst.BooleanOperation, cst.IfExp)) else part
            new = site.expression(f"{owner}.training and {{test}}", test=part)
            return site.fix(_TITLE, Safety.UNSAFE, site.replace(test, new))
        if changing is None:
            return None
        body = cst.SimpleStatementLine([changing.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)])
        guard = cst.If(site.expression(f"{owner}.training"), cst.IndentedBlock([body]))
        return site.fix(_TITLE, Safety.UNSAFE, site.replace(changing, guard))


def _is_noise(site: Site, call: cst.Call) -> bool:
    """Whether what is drawn is added or multiplied in, directly or through a variable: there zero is its mean."""
    match site.parent(call):
        case cst.BinaryOperation() as parent:
            return isinstance(parent.operator, _ADDED)
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
            uses = [n for n in site.uses(site.function(call), name) if is_loaded(site, n)]
            return bool(uses) and all(isinstance(site.parent(n), cst.BinaryOperation) for n in uses)
    return False


def _mean(site: Site, call: cst.Call) -> cst.BaseExpression | None:
    """What the draws are around, in the same shape: zeros for a normal distribution around zero."""
    name, by_name = dotted(call.func), keywords(call)
    if name == "torch.randn_like" or (name == "torch.randn" and "generator" not in by_name):
        return call.with_changes(func=site.expression(name.replace("randn", "zeros")), lpar=(), rpar=())
    mean, size = argument(call, "mean", 0), argument(call, "size", 2)
    if name != "torch.normal" or mean is None:
        return None
    number = literal(mean)
    if size is None:
        return mean if number is None and not isinstance(mean, cst.BaseNumber) else None
    if number is not None:
        mean = site.expression(f"{float(number)}")  # `torch.full` of an integer would make integers
    like = {n: by_name[n] for n in by_name if n in ("dtype", "device")}
    template = f"torch.full({{size}}, {{mean}}{''.join(f', {n}={{{n}}}' for n in like)})"
    return site.expression(template, size=size, mean=mean, **like)


def _changing(site: Site, call: cst.Call) -> cst.Assign | cst.AugAssign | None:
    """`x = x + noise`: the statement, alone in its line, that changes a variable by something drawn."""
    statement = site.statement(call)
    match statement:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
            changes = name in names_in(value)
        case cst.AugAssign(target=cst.Name()):
            changes = True
        case _:
            return None
    line = site.parent(statement) if changes else None
    return statement if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
