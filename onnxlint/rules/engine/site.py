"""Where a finding stands, as a fix sees it: the libcst nodes around its span, and changes of these nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import TypeGuard, TypeVar, cast

import libcst as cst
from libcst.helpers import parse_template_expression

from onnxlint.base.records import Edit, Finding, Fix, Safety, grouped
from onnxlint.rules.engine.cst_tree import Statement, Tree, children, walk
from onnxlint.rules.engine.source_page import Page

N = TypeVar("N", bound=cst.CSTNode)
Binding = tuple[cst.CSTNode, cst.BaseExpression]  # what binds names, and the target that it binds them by
Kind = Callable[..., N]  # a class, as `type[N]` is, but an abstract one too, such as `cst.BaseExpression`

# Expressions whose text may stand in front of a dot, or as an operand, without parentheses.
_TIGHT = (cst.Name, cst.Attribute, cst.Subscript, cst.Call, cst.List, cst.Dict, cst.Set, cst.BaseNumber, cst.BaseString)

_WEAK = (cst.Comparison, cst.BooleanOperation, cst.UnaryOperation, cst.IfExp, cst.Lambda, cst.NamedExpr)
_JOINS = (cst.Comparison, cst.ComparisonTarget, cst.BooleanOperation)  # which bind weaker than arithmetic
# Nothing but an operand, or what is called or asked for a part, is a child of these.
_HOLDS_OPERANDS = (cst.BinaryOperation, cst.UnaryOperation, cst.Attribute, cst.Subscript, cst.Call, cst.Await)


class Site:
    """A finding and the tree it stands in: its function in the head of the class (see `in_class`), or its statement."""

    def __init__(self, finding: Finding, page: Page, whole: bool = True) -> None:
        self.finding = finding
        self.page = page
        self.whole = whole
        self.start = finding.span.line, finding.span.column
        self.end = finding.span.end_line, finding.span.end_column
        self._of_torch: set[Edit] = set()  # that write its name

    @cached_property
    def tree(self) -> Tree:
        """What the finding stands in. Raises SyntaxError, libcst.ParserSyntaxError, ValueError or RecursionError."""
        line, page = self.start[0], self.page
        return page.region(line).around(line) if self.whole else page.statement(self.finding.statement, self.end[0])

    def in_class(self) -> Site:
        """The same finding in the tree of the whole class, with all of its methods."""
        site = Site(self.finding, self.page)
        site.tree = self.page.region(self.finding.span.line).cst
        return site

    def hint(self, name: str) -> str:
        """What the rule passed along as text; empty where it did not."""
        value = self.finding.hints.get(name, "")
        return value if isinstance(value, str) else ""

    def value(self, name: str = "") -> str:
        """What the dataflow knew of a variable where the finding is, or of what was observed; see ValueProvider."""
        return self.hint(f"${name}")

    def number(self, name: str) -> int | None:
        """What the rule passed along as a number."""
        value = self.finding.hints.get(name)
        return value if isinstance(value, int) else None

    def at_span(self, kind: Kind[N]) -> N | None:
        """The innermost node of a kind that begins and ends where the finding does."""
        return next((n for n in reversed(self.tree.at(self.start, self.end)) if _is(n, kind)), None)

    def inside(self, kind: Kind[N]) -> Iterator[N]:
        """The nodes of a kind within the finding's span, in source order."""
        return (n for n in self.tree.within(self.start, self.end) if _is(n, kind))

    def around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes that hold a node, innermost first."""
        return self.tree.around(node)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node that holds a node; of an argument's value, an element or an index that is the `Arg`, `Element`."""
        return self.tree.parent(node)

    def holder(self, node: cst.CSTNode, *kinds: Kind[N]) -> N | None:
        """The innermost node of these kinds around a node."""
        return next((outer for outer in self.around(node) if _is(outer, kinds)), None)

    def statement(self, node: cst.CSTNode) -> Statement | None:
        """The statement that a node is, or stands in: a compound one, or one of those in a line."""
        kinds = (cst.BaseSmallStatement, cst.BaseCompoundStatement)
        return next((n for n in chain((node,), self.around(node)) if isinstance(n, kinds)), None)

    def function(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """The function that a node stands in; a lambda is none."""
        holder = self.holder(node, cst.FunctionDef, cst.Lambda)
        return holder if isinstance(holder, cst.FunctionDef) else None

    def owner(self, node: cst.CSTNode) -> str | None:
        """The name of the `nn.Module`, as far as its own text tells, whose method a node stands in (`self`), if any."""
        cls, function = self.holder(node, cst.ClassDef), self.function(node)
        if cls is None or any(self.tree.code(b.value).endswith("autograd.Function") for b in cls.bases):
            return None  # which has no `training` flag
        # The compound statement in whose block it stands is the class, or else it is no method.
        while function is not None and not isinstance(self.holder(function, cst.BaseCompoundStatement), cst.ClassDef):
            function = self.function(function)
        if function is None or any(is_name(d.decorator, "staticmethod", "classmethod") for d in function.decorators):
            return None
        first = [*function.params.posonly_params, *function.params.params][:1]
        return first[0].name.value if first else None

    def block(self, statement: Statement) -> list[Statement]:
        """The statements of the block that a statement stands in, those of one line each for itself."""
        suite = self.holder(statement, cst.IndentedBlock, cst.SimpleStatementSuite, cst.Module)
        return flat(suite) if suite is not None else [statement]

    def uses(self, root: cst.CSTNode | None, name: str) -> list[cst.Name]:
        """Where a variable stands in a class or function, in source order; see `variables`. Nowhere in none."""
        return self.tree.once(_names, root).get(name, []) if root is not None else []

    def bindings(self, root: cst.CSTNode | None, name: str) -> list[Binding]:
        """The assignments, loops and comprehensions of a function that bind a name, in source order; none of none."""
        return self.tree.once(_bindings, root).get(name, []) if root is not None else []

    def source(self, node: cst.CSTNode) -> str:
        """The exact text of a node of the file, without parentheses of its own; of a node that was made, its code."""
        try:
            start, end = self.tree.range(node)
        except KeyError:
            return self.tree.code(node)
        return self.page.text[self.page.lines.offset(start) : self.page.lines.offset(end)]

    def indent(self, statement: cst.CSTNode) -> str:
        """The white space in front of a statement; of one behind a semicolon, of its line."""
        row = self.page.line(self.tree.range(statement)[0][0])
        return row[: len(row) - len(row.lstrip())]

    def comments(self, *nodes: cst.CSTNode) -> list[str]:
        """The comments in some nodes, and above those that are statements."""
        texts: list[str] = []
        for node in nodes:
            texts += [node.value] if isinstance(node, cst.Comment) else self.comments(*node.children)
        return texts

    def known_as(self, full: str) -> str | None:
        """The name that an import gives something, such as `numpy`, where the finding is; None without one."""
        names = (name for name, what in self.page.imports.items() if what == full)
        return next((name for name in names if not self.page.is_local(name, self.start)), None)

    @cached_property
    def _torch(self) -> cst.Name:
        """The name of torch where the finding is. Raises ValueError where that is something else's."""
        name = self.known_as("torch")
        if name is None and ("torch" in self.page.imports or self.page.is_local("torch", self.start)):
            raise ValueError("`torch` is no name of torch here")
        return cst.Name(name or "torch")

    def expression(self, template: str, **parts: cst.BaseExpression) -> cst.BaseExpression:
        """An expression from a template, such as `torch.where({test}, {one}, {other})`, with nodes for its names.

        A part is put in as it is: `tight(part)` where it is an operand, or stands in front of a dot. What the template
        says of `torch` is said by the name that the file has for it; raises ValueError where that is something else.
        """
        marks = {name: cst.Name(f"_{name}_") for name in parts}
        try:
            own = parse_template_expression(template, self.tree.root.config_for_parsing, **marks)
        except ValueError as error:  # a fix that does not fit raises that too, and is left out without a word
            raise TypeError(f"the template {template!r} does not name its parts") from error
        new = {mark.value: parts[name] for name, mark in marks.items()}
        names = {name: name.value for name in variables(own)}
        if "torch" in names.values():
            new["torch"] = self._torch

        class Filling(cst.CSTTransformer):
            def leave_Name(self, name: cst.Name, copy: cst.Name) -> cst.BaseExpression:
                return new.get(names.get(name, ""), copy)

        return cast("cst.BaseExpression", own.visit(Filling()))

    def fitted(self, new: cst.BaseExpression, node: cst.BaseExpression) -> cst.BaseExpression:
        """An expression to stand in the place of a node: in parentheses where what is around that binds tighter."""
        parent = self.parent(node)
        operand = isinstance(parent, _HOLDS_OPERANDS) or (isinstance(parent, _JOINS) and isinstance(new, _WEAK))
        return tight(new) if operand and not node.lpar else new

    def replace(self, node: cst.CSTNode, new: cst.CSTNode) -> Edit:
        """Put a node in the place of another, which keeps its own parentheses."""
        start, end = (self.page.lines.offset(place) for place in self.tree.range(node))
        return self._edit(start, end, new, node)

    def replace_whole(self, node: cst.BaseExpression, new: cst.BaseExpression) -> Edit:
        """As `replace`, and what stood in parentheses for its operator alone, without a comment, loses them.

        Raises ValueError where the new expression lacks a comment that stood between the parts of the old one.
        """
        start, end = self.tree.range(node)
        text, remaining = self.page.text, self.comments(new, *node.lpar, *node.rpar)
        if any(comment not in remaining for comment in self.comments(node)):
            raise ValueError("a comment would be lost")
        low, high = self.page.lines.offset(start), self.page.lines.offset(end)
        own = _own(node)
        for opened, closed in zip(node.lpar[: len(node.lpar) - own][::-1], node.rpar[own:], strict=True):
            before, after = self.tree.code(opened), self.tree.code(closed)
            if "#" in before + after or not (text[:low].endswith(before) and text.startswith(after, high)):
                break
            low, high = low - len(before), high + len(after)
        return self._edit(low, high, new, node)

    def replace_lines(
        self, first: Statement, last: Statement, lines: Sequence[cst.BaseStatement], comments: Sequence[str]
    ) -> Edit:
        """Put lines below comments in the place of the statements of a block from one to another."""
        start, end = self.tree.range(first)[0], self.tree.range(last)[1]
        above = [cst.EmptyLine(comment=cst.Comment(text)) for text in comments]
        lines = [lines[0].with_changes(leading_lines=above), *lines[1:]]
        return self.splice(start, end, "".join(self.tree.code(line, first) for line in lines).strip(), *lines)

    def _edit(self, start: int, end: int, new: cst.CSTNode, node: cst.CSTNode) -> Edit:
        """Put something in the place of a node, between two offsets, without the words at both ends that stay."""
        text, place = self.page.text[start:end], self.page.lines.place
        if isinstance(new, cst.BaseExpression) and new.lpar is getattr(node, "lpar", None):
            own = _own(new)
            new = new.with_changes(lpar=new.lpar[len(new.lpar) - own :], rpar=new.rpar[:own])
        code = self.tree.code(new, node)
        if "\n" in code and isinstance(new, cst.BaseExpression) and "\n" not in self.source(node):
            code = self.tree.code(tight(new), node)
        code = code.strip() if isinstance(new, cst.BaseCompoundStatement) else code
        first = _shared(text, code)
        while _splits(text, first) or _splits(code, first):
            first -= 1
        last = _shared(text[first:][::-1], code[first:][::-1])
        while _splits(text, len(text) - last) or _splits(code, len(code) - last):
            last -= 1
        edit = self.splice(place(start + first), place(end - last), code[first : len(code) - last], new)
        return replace(edit, node=(place(start), place(end)))

    def splice(self, start: tuple[int, int], end: tuple[int, int], text: str, *made: cst.CSTNode) -> Edit:
        """Put `text` in the place of what stands between two places (line and column, from 1): that of nodes."""
        edit = Edit(self.page.path, start, end, text.replace("\r\n", "\n"))
        if "torch" in names_in(*made):
            self._of_torch.add(edit)
        return edit

    def insert_before(self, statement: Statement, new: cst.BaseSmallStatement) -> Edit:
        """Put a statement in front of another, on a line of its own."""
        line = self.tree.range(statement)[0][0]
        return self.splice((line, 1), (line, 1), f"{self.indent(statement)}{self.tree.code(new)}\n", new)

    def remove(self, statement: Statement, *blank: cst.EmptyLine) -> Edit:
        """Take a statement out, with its lines if nothing else stands there; the last of a block becomes `pass`.

        With it go blank lines next to it.
        """
        if len(self.block(statement)) == 1:
            return self.replace(statement, cst.Pass())
        start, end = self.tree.whole(statement)
        lines, text = self.page.lines, self.page.text
        rows = [start[0], end[0], *(self.tree.range(line)[0][0] for line in blank)]
        first, after = lines.start(min(rows)), lines.start(max(rows) + 1)
        rest = text[lines.offset(end) : after].strip()
        if text[first : lines.offset(start)].strip() or (rest and not rest.startswith("#")):
            return self.replace(statement, cst.Pass())
        return self.splice(lines.place(first), lines.place(after), "")

    def fix(self, title: str, safety: Safety, *changes: Edit) -> Fix:
        """A fix made of these changes, in source order; what they write of `torch` is imported where it is not."""
        edits = list(changes)
        imported = "torch" in self.page.imports or self._of_torch.isdisjoint(edits)
        if not imported and not self.page.is_local("torch", self.start):
            edits.append(self.page.import_of_torch)
        return Fix(title, safety, tuple(sorted(edits, key=lambda e: (e.start, e.end))))


def _shared(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _is(node: cst.CSTNode, kind: Kind[N] | tuple[Kind[N], ...]) -> TypeGuard[N]:
    return isinstance(node, kind)  # type: ignore[arg-type]  # it is a class


def _own(node: cst.BaseExpression) -> int:
    """How many of its parentheses are within the range of a node: one pair of a tuple or a generator, as in `ast`."""
    return int(isinstance(node, (cst.Tuple, cst.GeneratorExp)) and bool(node.lpar))


def _splits(text: str, at: int) -> bool:
    """Whether a place in a text is within a word, a dotted name or a newline."""
    pair = text[at - 1 : at + 1] if at > 0 else ""
    return pair == "\r\n" or (len(pair) == 2 and all(c.isalnum() or c in "_." for c in pair))


def tight(node: cst.BaseExpression) -> cst.BaseExpression:
    """An expression that may stand in front of a dot or an operator: in parentheses where it binds weaker."""
    if isinstance(node, _TIGHT) or node.lpar:
        return node
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def bare(node: cst.BaseExpression) -> cst.BaseExpression:
    """An expression without parentheses of its own, unless it needs them: a tuple does, and one of several lines."""
    code = cst.Module([]).code_for_node(node)
    needed = isinstance(node, (cst.Tuple, cst.GeneratorExp, cst.NamedExpr, cst.Yield)) or "\n" in code
    return node if needed or not node.lpar else node.with_changes(lpar=(), rpar=())


def operand(node: cst.BaseExpression) -> cst.BaseExpression:
    """An expression as an operand, without parentheses that it does not need for that."""
    return tight(bare(node))


def ended(node: N) -> N:
    """A line, block or compound statement up to its last word: without what is behind that, and comments below."""
    changes: dict[str, object] = {"footer": ()} if hasattr(node, "footer") else {}
    field = next(f for f in ("finalbody", "orelse", "handlers", "cases", "body") if getattr(node, f, None))
    parts = getattr(node, field)
    if isinstance(node, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
        changes["trailing_whitespace"] = cst.TrailingWhitespace()
        changes[field] = [*parts[:-1], parts[-1].with_changes(semicolon=cst.MaybeSentinel.DEFAULT)]
    else:
        changes[field] = ended(parts) if isinstance(parts, cst.CSTNode) else [*parts[:-1], ended(parts[-1])]
    return node.with_changes(**changes)


def continued(node: N, before: str, after: str) -> N:
    """A statement whose lines behind a backslash are indented otherwise."""

    class Moving(cst.CSTTransformer):
        def leave_SimpleWhitespace(self, _: object, space: cst.SimpleWhitespace) -> cst.SimpleWhitespace:
            return space.with_changes(value=space.value.replace(f"\n{before}", f"\n{after}"))

    return cast("N", node.visit(Moving()))


def flat(suite: cst.CSTNode) -> list[Statement]:
    """The statements of a block or a module, those of one line each for itself."""
    statements: list[Statement] = []
    for node in getattr(suite, "body", ()):
        statements += node.body if isinstance(node, cst.SimpleStatementLine) else [node]
    return statements


def body_of(node: cst.CSTNode) -> list[Statement]:
    """The statements of a compound statement's body."""
    return flat(node.body)  # type: ignore[attr-defined]  # of an `if`, `else`, loop, function, class, `with`


def orelse_of(node: cst.CSTNode) -> list[Statement]:
    """The statements of the `else` of an `if` or a loop, where an `elif` is an `if` of its own; none without one."""
    orelse = getattr(node, "orelse", None)
    if isinstance(orelse, cst.If):
        return [orelse]
    return flat(orelse.body) if orelse is not None else []


def is_name(node: cst.CSTNode | None, *names: str) -> bool:
    """Whether a node is one of these variables or constants."""
    return isinstance(node, cst.Name) and node.value in names


def call_name(node: cst.CSTNode | None) -> str:
    """The last word of what is called: `view` of `x.view(...)`; empty for no call by name."""
    func = node.func if isinstance(node, cst.Call) else None
    return func.attr.value if isinstance(func, cst.Attribute) else func.value if isinstance(func, cst.Name) else ""


def dotted(node: cst.CSTNode) -> str:
    """The text of a name or a chain of attributes; empty for anything else."""
    if isinstance(node, cst.Attribute):
        head = dotted(node.value)
        return f"{head}.{node.attr.value}" if head else ""
    return node.value if isinstance(node, cst.Name) else ""


def literal(node: cst.CSTNode | None) -> int | None:
    """The number that a literal is, negative ones included."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        inner = literal(node.expression)
        return None if inner is None else -inner
    return node.evaluated_value if isinstance(node, cst.Integer) else None


def positional(call: cst.Call) -> list[cst.BaseExpression]:
    """The values that a call gives by position; one given by `*` is left in, see `has_star`."""
    return [a.value for a in call.args if a.keyword is None and a.star != "**"]


def keywords(call: cst.Call) -> dict[str, cst.BaseExpression]:
    """The values that a call gives by name; one under `**` is in none."""
    return {a.keyword.value: a.value for a in call.args if a.keyword is not None}


def argument(call: cst.Call, name: str, position: int | None = None) -> cst.BaseExpression | None:
    """The value that a call gives an argument by name, or by position from 0 where no star stands before it."""
    by_name = keywords(call).get(name)
    if by_name is not None or position is None:
        return by_name
    front = [a for a in call.args if a.keyword is None and a.star != "**"][: position + 1]
    return front[position].value if position < len(front) and not any(a.star for a in front) else None


def has_star(call: cst.Call) -> bool:
    """Whether a call gives arguments by `*` or `**`."""
    return any(a.star for a in call.args)


def elements(node: cst.CSTNode | None) -> list[cst.BaseExpression] | None:
    """What a tuple or list display holds; None for anything else, and where a star is in it."""
    if not isinstance(node, (cst.Tuple, cst.List)) or any(isinstance(e, cst.StarredElement) for e in node.elements):
        return None
    return [e.value for e in node.elements]


def indices(node: cst.Subscript) -> list[cst.BaseExpression | cst.Slice]:
    """What stands in the brackets of a subscript: expressions and slices."""
    return [e.slice.value if isinstance(e.slice, cst.Index) else e.slice for e in node.slice]  # type: ignore[misc]


def names_in(*nodes: cst.CSTNode) -> set[str]:
    """The variables that occur in some nodes."""
    return {n.value for node in nodes for n in variables(node)}


def variables(node: cst.CSTNode) -> Iterator[cst.Name]:
    """The names in a node that stand for variables: not those of attributes, keywords and parameters."""
    waiting = [node]
    while waiting:
        at = waiting.pop()
        if isinstance(at, cst.Name):
            if at.value not in ("True", "False", "None"):
                yield at
            continue
        skipped: tuple[cst.CSTNode | None, ...] = ()
        if isinstance(at, cst.Attribute):
            skipped = (at.attr,)
        elif isinstance(at, cst.Arg):
            skipped = (at.keyword,)
        elif isinstance(at, (cst.Param, cst.FunctionDef, cst.ClassDef)):
            skipped = (at.name,)
        waiting += [c for c in reversed(children(at)) if c not in skipped]


def same(one: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether two expressions are the same, whatever their white space, comments and parentheses."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (cst.Name, cst.Integer, cst.Float, cst.Imaginary, cst.SimpleString)):
        return bool(one.value == other.value)  # type: ignore[attr-defined]  # they are of one type
    if type(getattr(one, "operator", None)) is not type(getattr(other, "operator", None)):
        return False
    if isinstance(one, cst.Arg) and one.star != other.star:  # type: ignore[attr-defined]
        return False
    mine, theirs = children(one), children(other)
    return len(mine) == len(theirs) and all(same(a, b) for a, b in zip(mine, theirs, strict=True))


def is_loaded(site: Site, node: cst.BaseExpression) -> bool:
    """Whether a variable, an attribute or an item is read here, not assigned, bound or deleted."""
    at: cst.CSTNode = node
    for outer in site.around(node):
        if isinstance(outer, (cst.AssignTarget, cst.Del, cst.AsName)):
            return False
        if isinstance(outer, (cst.AnnAssign, cst.AugAssign, cst.For, cst.CompFor, cst.NamedExpr)):
            return outer.target is not at
        if not isinstance(outer, (cst.Tuple, cst.List, cst.Element, cst.StarredElement)):
            return True
        at = outer
    return True


def _names(root: cst.CSTNode) -> dict[str, list[cst.Name]]:
    return grouped(variables(root), lambda name: name.value)


def _bindings(root: cst.CSTNode) -> dict[str, list[Binding]]:
    bindings: dict[str, list[Binding]] = {}
    for node in walk(root):
        targets: list[cst.BaseExpression] = []
        if isinstance(node, cst.Assign):
            targets = [t.target for t in node.targets]
        elif isinstance(node, (cst.AnnAssign, cst.AugAssign, cst.For, cst.CompFor, cst.NamedExpr)):
            targets = [node.target]
        for target in targets:
            for name in names_in(target):
                bindings.setdefault(name, []).append((node, target))
    return bindings
