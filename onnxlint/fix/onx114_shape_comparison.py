"""ONX114: resize always, where the sizes agree it changes nothing."""

from __future__ import annotations

import libcst as cst
from libcst import matchers as m

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.guards import branch_of, only_assignment, without_question
from onnxlint.rules.site import Site, call_name, keywords, positional, same

_SIZES_DIFFER = m.Comparison(comparisons=[m.ComparisonTarget(m.NotEqual())])


@remedy("ONX114", Safety.UNSAFE)
def resize_always(site: Site) -> Fix | None:
    """Unsafe by a last digit: a resize to the same size computes what it could have left alone."""
    branch = branch_of(site)
    if not isinstance(branch, cst.If) or not m.matches(branch.test, _SIZES_DIFFER):
        return None
    statement = only_assignment(branch)
    call = statement.value if statement is not None else None
    if not isinstance(call, cst.Call) or call_name(call) not in ("interpolate", "resize"):
        return None
    resized = statement is not None and any(same(i, statement.targets[0].target) for i in positional(call)[:1])
    if not resized or "size" not in keywords(call):
        return None
    return without_question(site, branch, "resize always: to its own size it changes nothing", Safety.UNSAFE)
