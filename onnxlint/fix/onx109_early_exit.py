"""ONX109: do not skip a round for an empty selection."""

from __future__ import annotations

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.guards import branch_of, without_guard
from onnxlint.rules.site import Site


@remedy("ONX109", Safety.UNSAFE)
def do_not_skip(site: Site) -> Fix | None:
    """Unsafe: the rest of the round has to bear an empty selection."""
    branch = branch_of(site)
    return without_guard(site, branch) if branch is not None else None
