"""ONX502: the name, or the axis, that was meant."""

from __future__ import annotations

import libcst as cst

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.site import Site, literal


@remedy("ONX502", Safety.UNSAFE)
def name_what_exists(site: Site) -> Fix | None:
    """Unsafe: which name or axis was meant is a guess, though a near one."""
    for node in reversed(list(site.tree.holding(site.start))):
        if isinstance(node, cst.DictElement) and isinstance(node.value, cst.Dict):
            whole = site.parent(node)
            if isinstance(node.key, cst.SimpleString) and isinstance(whole, cst.Dict):
                return _renamed(site, node.key) or _shifted(site, whole, node.value)
    return None


def _renamed(site: Site, key: cst.SimpleString) -> Fix | None:
    near, quote = site.hint("near"), key.quote[-1]
    if not near or key.evaluated_value != site.hint("name"):
        return None
    return site.fix(f"write `{near}`", Safety.UNSAFE, site.replace(key, cst.SimpleString(f"{quote}{near}{quote}")))


def _shifted(site: Site, whole: cst.Dict, axes: cst.Dict) -> Fix | None:
    """Axes that count from one behind the batch: each but the first moves on by one, and with it its like elsewhere."""
    fixed, rank = site.number("fixed"), site.number("rank")
    numbers = _numbers(axes)
    if fixed is None or rank is None or numbers is None or fixed not in numbers or fixed == 0:
        return None
    if numbers != list(range(len(numbers))) or numbers[-1] + 1 >= rank:
        return None
    alike = [e.value for e in whole.elements if isinstance(e.value, cst.Dict) and _numbers(e.value) == numbers]
    edits = [
        site.replace(key, cst.Integer(str(number + 1)))
        for other in alike
        for key in _keys(other)
        if (number := literal(key)) is not None and number >= fixed
    ]
    return site.fix(f"count the axes from 0: axis {fixed} has a fixed size", Safety.UNSAFE, *edits)


def _keys(axes: cst.Dict) -> list[cst.BaseExpression]:
    return [e.key for e in axes.elements if isinstance(e, cst.DictElement)]


def _numbers(axes: cst.Dict) -> list[int] | None:
    keys = [literal(key) for key in _keys(axes)]
    numbers = sorted(number for number in keys if number is not None and number >= 0)
    return numbers if len(numbers) == len(axes.elements) else None
