"""Changes of a call's arguments: commas, comments and line breaks of the others stay as they are."""

import libcst as cst

from onnxlint.rules.engine.site import argument, keywords

Whitespace = cst.BaseParenthesizableWhitespace
_NONE, _SPACE = cst.SimpleWhitespace(""), cst.SimpleWhitespace(" ")
_LINE = cst.TrailingWhitespace()


def set_argument(call: cst.Call, name: str, value: cst.BaseExpression, position: int | None = None) -> cst.Call | None:
    """Give an argument the value, in the place of the one that is there, or as a new keyword at the end.

    None where `**` or `*` may give it already.
    """
    before = argument(call, name, position)
    if before is not None:
        value = value.with_changes(lpar=before.lpar, rpar=before.rpar)
        args = [a.with_changes(value=value) if a.value is before else a for a in call.args]
        return call.with_changes(args=args)
    if any(a.star == "**" or (a.star and position is not None) for a in call.args):
        return None
    return add_argument(call, name, value)


def add_argument(call: cst.Call, name: str, value: cst.BaseExpression) -> cst.Call | None:
    """Write one more keyword behind the others; None behind a generator that has no parentheses of its own."""
    new = cst.Arg(value, cst.Name(name), cst.AssignEqual(_NONE, _NONE))
    if not call.args:
        return call.with_changes(args=[new])
    *others, last = call.args
    if isinstance(last.value, cst.GeneratorExp) and not last.value.lpar:
        return None
    end, comma = _after(last), last.comma if isinstance(last.comma, cst.Comma) else cst.Comma()
    gap: Whitespace = _SPACE
    if isinstance(end, cst.ParenthesizedWhitespace):
        # The row of the last argument says how deep the new one is.
        rows = [call.whitespace_before_args, *map(_after, others)]
        row = next(r for r in (*reversed(rows), end) if isinstance(r, cst.ParenthesizedWhitespace))
        gap = end.with_changes(indent=row.indent, last_line=row.last_line)
        end, new = end.with_changes(first_line=_LINE, empty_lines=()), new.with_changes(comma=cst.Comma())
    last = last.with_changes(comma=comma, whitespace_after_arg=_NONE)
    return call.with_changes(args=[*others, _followed(last, gap), _followed(new, end)])


def drop_argument(call: cst.Call, name: str) -> cst.Call | None:
    """Take a keyword argument out, with its line if it stands there alone; None where the call does not give it."""
    if name not in keywords(call):
        return None
    args = list(call.args)
    at = next(i for i, a in enumerate(args) if a.keyword is not None and a.keyword.value == name)
    before, after = _after(args[at - 1]) if at else call.whitespace_before_args, _after(args.pop(at))
    gap = _joined(before, after)
    if not at:
        return call.with_changes(args=args, whitespace_before_args=gap)
    if at == len(args) and not (isinstance(before, cst.ParenthesizedWhitespace) and isinstance(after, type(before))):
        args[at - 1] = args[at - 1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        gap = before if "#" in cst.Module([]).code_for_node(before) else after
    args[at - 1] = _followed(args[at - 1], gap)
    return call.with_changes(args=args)


def _after(arg: cst.Arg) -> Whitespace:
    """What stands between an argument, or its comma, and what follows."""
    return arg.comma.whitespace_after if isinstance(arg.comma, cst.Comma) else arg.whitespace_after_arg


def _followed(arg: cst.Arg, gap: Whitespace) -> cst.Arg:
    """An argument with other white space between it, or its comma, and what follows."""
    if isinstance(arg.comma, cst.Comma):
        return arg.with_changes(comma=arg.comma.with_changes(whitespace_after=gap))
    return arg.with_changes(whitespace_after_arg=gap)


def _joined(before: Whitespace, after: Whitespace) -> Whitespace:
    """What stands between two arguments once that between them is gone, and the comment behind it on its line."""
    if not isinstance(after, cst.ParenthesizedWhitespace):
        return before
    if not isinstance(before, cst.ParenthesizedWhitespace):
        return after
    return after.with_changes(first_line=before.first_line, empty_lines=[*before.empty_lines, *after.empty_lines])
