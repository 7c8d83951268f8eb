"""ONX114: resize always, where the sizes agree it changes nothing."""

from __future__ import annotations

import ast

from onnxlint.fix.guards import without_question
from onnxlint.fix.onx101_tensor_branch import branch_of
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


@remedy("ONX114", Safety.UNSAFE)
def resize_always(site: Site) -> Fix | None:
    """Unsafe by a last digit: a resize to the same size computes what it could have left alone."""
    branch = branch_of(site)
    if not isinstance(branch, ast.If) or branch.orelse or len(branch.body) != 1:
        return None
    test, body = branch.test, branch.body[0]
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.NotEq)):
        return None
    if not (isinstance(body, ast.Assign) and len(body.targets) == 1 and isinstance(body.value, ast.Call)):
        return None
    call, target = body.value, body.targets[0]
    if site.source(call.func).rpartition(".")[2] not in ("interpolate", "resize") or not call.args:
        return None
    if site.source(call.args[0]) != site.source(target) or not any(k.arg == "size" for k in call.keywords):
        return None
    return without_question(site, branch, "resize always: to its own size it changes nothing", Safety.UNSAFE)
