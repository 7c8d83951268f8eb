import libcst as cst

from onnxlint.base.records import Edit, Fix, Safety
from onnxlint.rules.engine.rule import Rule
from onnxlint.rules.engine.site import Site


class UnusedSuppression(Rule):
    """Found by the machinery itself; only the fix is here."""

    def fix(self, site: Site) -> Fix | None:
        """Safe: no code changes."""
        site = site.in_class()
        line = site.tree.comments.get(site.start[0])
        if line is None or line.comment is None:
            return None
        comment, column = line.comment, site.tree.range(line.comment)[0][1]
        first, last = site.start[1] - column, site.end[1] - column
        before, left, behind = comment.value[:first], site.hint("left"), comment.value[last:]
        if left:
            new = comment.with_changes(value=f"{before}{left}{behind}")
            title, edit = "take out the codes that silence nothing", site.replace(comment, new)
        else:
            remaining = before + behind[behind.index("#") :] if "#" in behind else before.rstrip()
            title, edit = "take out the comment", _shortened(site, line, comment, remaining)
        site.page.sound.add(edit)  # it changes a comment alone
        return site.fix(title, Safety.SAFE, edit)


def _shortened(site: Site, line: cst.EmptyLine | cst.TrailingWhitespace, comment: cst.Comment, remaining: str) -> Edit:
    """A comment up to what is kept of it; where that is nothing, its line goes too, or the space in front of it."""
    if remaining:
        return site.replace(comment, comment.with_changes(value=remaining))
    start, end = site.tree.range(line)[0], site.tree.range(comment)[1]
    if isinstance(line, cst.EmptyLine):
        lines = site.page.lines
        start, end = (end[0], 1), lines.place(lines.start(end[0] + 1))
    return site.splice(start, end, "")
