"""Code whose size matters to nobody: arms that compute the same, loops with a turn for each module of the model."""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from onnxlint.flow.values.node_places import assignments, last_name
from onnxlint.flow.values.size_forms import read_sizes_of

_FIXED = (ast.Constant, ast.Name, ast.BinOp)
LARGE = 1 << 27  # elements, or bytes, that no example has
REST = 50  # statements behind an arm that returns that are held against it
_COUNTS = re.compile(r"(?:^|_)(?:len|lens|lengths?|ids)$")


def holds_outputs(call: ast.AST) -> bool:
    """True for `len(attention_outputs)`: by its name a tuple of tensors, whatever a caller was seen to give."""
    return isinstance(call, ast.Call) and bool(call.args) and last_name(call.args[0]).endswith("outputs")


def asks_for_elements(node: ast.expr) -> bool:
    """True for what is zero only where there is nothing: `x.numel()`, `len(x)`, `x.shape[1]`, `x.size(1)`."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    f = node.func if isinstance(node, ast.Call) else None
    return (isinstance(f, ast.Attribute) and f.attr in ("numel", "size")) or (isinstance(f, ast.Name) and f.id == "len")


def counts(node: ast.expr) -> bool:
    """True for an expression whose name stands for numbers that are not negative: lengths, ids."""
    while isinstance(node, (ast.Subscript, ast.Call)) or (isinstance(node, ast.Attribute) and node.attr != "T"):
        node = node.func if isinstance(node, ast.Call) else node.value
    return _COUNTS.search(getattr(node, "id", "")) is not None


def asks_for_memory(test: ast.expr, function: ast.AST, number: Callable[[ast.expr], float | None]) -> bool:
    """True where `test` asks whether a tensor has more elements than any example: too large for one go.

    What is counted is `numel()` or the product of all sizes, maybe in gigabytes. `number` tells what is fixed.
    """
    match test:
        case ast.Compare(left, [ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()], [bound]):
            limit = number(bound) if isinstance(bound, _FIXED) else None
            count = _assigned(left, function)
        case _:
            return False
    if limit is None or not _counts_elements(count):
        return False
    while isinstance(count, ast.BinOp) and isinstance(count.op, ast.Div):
        limit *= number(count.right) or 0
        count = count.left
    return limit >= LARGE


def in_pieces(one: Sequence[ast.stmt], other: Sequence[ast.stmt]) -> bool:
    """True where `other` does in a loop what `one` does in one go."""
    if any(True for _ in _loops(one)):
        return False
    whole = {ast.dump(call.func) for s in one for call in _calls(s)}
    return any(ast.dump(call.func) in whole for loop in _loops(other) for call in _calls(loop))


def _assigned(node: ast.expr, function: ast.AST) -> ast.expr:
    """What a name stands for where the function assigns it once; the expression itself elsewhere."""
    if not isinstance(node, ast.Name):
        return node
    values = assignments(function).get(node.id, [])
    return values[0] if len(values) == 1 else node


def _counts_elements(node: ast.expr) -> bool:
    """True for `x.numel() / 10**9` and for a product of four sizes or more."""
    read = [n for n in ast.walk(node) if isinstance(n, ast.Subscript) and read_sizes_of(n) is not None]
    called = (call.func for call in _calls(node))
    return len(read) >= 4 or any(isinstance(f, ast.Attribute) and f.attr in ("numel", "nelement") for f in called)


def splits_work(body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> bool:
    """True where one arm makes one call, and the other the same call piece by piece, to save memory."""
    return _whole_and_pieces(body, orelse) or _whole_and_pieces(orelse, body)


def _whole_and_pieces(whole: Sequence[ast.stmt], pieces: Sequence[ast.stmt]) -> bool:
    match whole:
        case [ast.Assign(value=ast.Call(f)) | ast.Return(ast.Call(f))]:
            wanted = ast.dump(f)
            return any(ast.dump(call.func) == wanted for loop in _loops(pieces) for call in _calls(loop))
    return False


def _loops(statements: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    kinds = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp)
    return (n for s in statements for n in ast.walk(s) if isinstance(n, kinds))


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (n for n in ast.walk(node) if isinstance(n, ast.Call))


@lru_cache(maxsize=256)
def one_for_each_module(loop: ast.For | ast.AsyncFor | ast.comprehension, whole: ast.AST) -> bool:
    """True for `for i, x in enumerate(xs)` around `self.parts[i]` or `getattr(self, f"part{i}")`: one for each turn."""
    match loop.target, loop.iter:
        case ast.Tuple([ast.Name(number), *_]), ast.Call(ast.Name("enumerate")):
            nodes = (n for n in ast.walk(whole) if isinstance(n, ast.Subscript))
            parts = [n for n in nodes if getattr(n.slice, "id", "") == number and isinstance(n.value, ast.Attribute)]
            by_name = re.search(rf"getattr\(self, [^,)]*\b{number}\b", ast.unparse(whole)) is not None
            return by_name or any(getattr(getattr(n.value, "value", None), "id", "") == "self" for n in parts)
    return False
