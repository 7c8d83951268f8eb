"""ONX514: export the module in the wrapper."""

from __future__ import annotations

import ast

from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


@remedy("ONX514", Safety.UNSAFE)
def unwrap(site: Site) -> Fix | None:
    """Unsafe: the parallel wrapper is left out of the export."""
    node = site.at_span(ast.expr)
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return None
    end = site.page.range(node)[1]
    return site.fix("export `model.module`", Safety.UNSAFE, site.splice(end, end, ".module"))
