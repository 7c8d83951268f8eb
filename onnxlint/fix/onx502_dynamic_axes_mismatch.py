"""ONX502: the name, or the axis, that was meant."""

from __future__ import annotations

import ast

from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.fix.sizes import literal
from onnxlint.records import Fix, Safety


@remedy("ONX502", Safety.UNSAFE)
def name_what_exists(site: Site) -> Fix | None:
    """Unsafe: which name or axis was meant is a guess, though a near one."""
    span = site.finding.span
    start = site.page.lines.offset((span.line, span.column))
    holding = list(site.holding(start))
    for node, inner in reversed(list(zip(holding[1:], holding, strict=False))):
        if isinstance(node, ast.Dict):
            at = next(i for part in (node.keys, node.values) for i, n in enumerate(part) if n is inner)
            key, value = node.keys[at], node.values[at]
            if isinstance(value, ast.Dict) and isinstance(key, ast.Constant) and isinstance(key.value, str):
                return _renamed(site, key) or _shifted(site, node, value)
    return None


def _renamed(site: Site, key: ast.Constant) -> Fix | None:
    near = site.hint("near")
    if not near or key.value != site.hint("name"):
        return None
    quote = site.source(key)[-1]
    return site.fix(f"write `{near}`", Safety.UNSAFE, site.replace(key, f"{quote}{near}{quote}"))


def _shifted(site: Site, whole: ast.Dict, axes: ast.Dict) -> Fix | None:
    """Axes that count from one behind the batch: each but the first moves on by one, and with it its like elsewhere."""
    fixed, rank = site.number("fixed"), site.number("rank")
    numbers = _numbers(axes)
    if fixed is None or rank is None or numbers is None or fixed not in numbers or fixed == 0:
        return None
    if numbers != list(range(len(numbers))) or numbers[-1] + 1 >= rank:
        return None
    alike = [v for v in whole.values if isinstance(v, ast.Dict) and _numbers(v) == numbers]
    edits = [
        site.replace(key, str(number + 1))
        for other in alike
        for key in other.keys
        if key is not None and (number := literal(key)) is not None and number >= fixed
    ]
    return site.fix(f"count the axes from 0: axis {fixed} has a fixed size", Safety.UNSAFE, *edits)


def _numbers(axes: ast.Dict) -> list[int] | None:
    found = [literal(key) for key in axes.keys if key is not None]
    numbers = sorted(number for number in found if number is not None and number >= 0)
    return numbers if len(numbers) == len(axes.keys) else None
