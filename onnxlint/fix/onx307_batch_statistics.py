"""ONX307: tie the statistics of a normalisation to the mode of its module."""

from __future__ import annotations

import libcst as cst
from libcst import matchers as m

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.calls import set_argument
from onnxlint.rules.site import Site, argument, call_name


@remedy("ONX307", Safety.UNSAFE, changes_output=True)
def tie_to_mode(site: Site) -> Fix | None:
    """Unsafe: eval mode then normalises by the running statistics, which the call has to be given."""
    call = site.at_span(cst.Call)
    owner = site.owner(call) if call is not None and site.is_module(call) else None
    if call is None or owner is None or not call_name(call).endswith("batch_norm"):
        return None
    statistics = (argument(call, "running_mean", 1), argument(call, "running_var", 2))
    if any(s is None or m.matches(s, m.Name("None")) for s in statistics):
        return None
    tied = set_argument(call, "training", site.expression(f"{owner}.training"), position=5)
    return site.fix("pass `training=self.training`", Safety.UNSAFE, site.replace(call, tied)) if tied else None
