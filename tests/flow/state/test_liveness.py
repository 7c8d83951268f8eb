"""What a function reads after a line, and what it reads in training mode alone: told by its text."""

from __future__ import annotations

import ast
import textwrap

import pytest

from onnxlint.flow.state import liveness


def function(body: str) -> ast.FunctionDef:
    (node,) = ast.parse("def forward(self, x, y):\n" + textwrap.indent(textwrap.dedent(body).strip(), "    ")).body
    assert isinstance(node, ast.FunctionDef)
    return node


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ("v = x[0]\nv += 1\nreturn x", True),
        ("v = x.view(2, -1)\nv.mul_(2)\nreturn v", False),
        ("v = torch.transpose(x, 0, 1)\nv += 1\nreturn x.sum()", True),
        ("v = x + 1\nv += 1\nreturn x", False),  # a fresh tensor
        ("v = x[0]\nv += 1\nx = y\nreturn x", False),  # bound anew before it is read
        ("v, w = x[0], y\nv += 1\nreturn y", False),
    ],
)
def test_the_base_of_a_view_is_read_after_a_write_to_it(body: str, read: bool) -> None:
    assert liveness.base_is_read(function(body), "v", 3) is read


def test_another_view_of_the_same_tensor_reads_it_too() -> None:
    tree = function("a = x.view(-1)\nv = x[1]\nv += 1\nreturn a")
    assert liveness.base_is_read(tree, "v", 4)


def test_another_part_of_the_same_tensor_does_not() -> None:
    tree = function("a = x[0]\nv = x[1]\nv += 1\nb = x.select(0, 2)\nreturn a + b + x[3] + x.shape[0]")
    assert not liveness.base_is_read(tree, "v", 4)


def test_a_part_that_is_reshaped_is_one() -> None:
    tree = function("a = x[:, 0].unsqueeze(1)\nv = x.view(2, -1)[:, 1]\nv += 1\nreturn a + v")
    assert not liveness.base_is_read(tree, "v", 4)
    assert liveness.base_is_read(function("a = x.view(-1).unsqueeze(0)\nv = x[1]\nv += 1\nreturn a"), "v", 4)


def test_a_statement_of_several_lines_is_no_reading_after_itself() -> None:
    tree = function("v = x[0]\nv.add_(\n    x)\nreturn v")
    assert not liveness.base_is_read(tree, "v", 3)


def test_a_name_of_the_line_above_is_told_from_one_of_the_same_line() -> None:
    tree = function("v = x[0]\nv += 1\nw = x[1]; w += 1\nreturn v")
    assert liveness.named_above(tree, "v", 3)
    assert not liveness.named_above(tree, "w", 4)
    assert not liveness.named_above(tree, "x", 3)


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("self.grid = self.grid.to(x)", True),
        ("self.grid = self.grid.float().cpu()", True),
        ("self.flag |= self.other", True),
        ("self.grid = self.grid + 1", False),
        ("self.count += 1", False),
        ("self.grid = self.mask.to(x)", False),
    ],
)
def test_a_second_run_changes_nothing_of(text: str, again: bool) -> None:
    assert liveness.rewrites_itself(ast.parse(text).body[0]) is again


@pytest.mark.parametrize(
    ("body", "training"),
    [
        ("n = x.max()\nif self.training:\n    x = x / n\nreturn x", True),
        ("n = x.max()\nif self.training and n > 1:\n    x = x / n\nreturn x", True),
        ("n = x.max()\nif not self.training or n > 1:\n    x = -x\nreturn x", True),
        ("n = x.max()\nif self.training or n > 1:\n    x = -x\nreturn x", False),
        ("n = x.max()\nif not self.training:\n    x = x / n\nreturn x", False),
        ("n = x.max()\nreturn x", False),  # nobody reads it at all
        ("if x.max() > 1 and self.training:\n    x = -x\nreturn x", True),
        ("if self.flag and self.training and self.rate > x.max():\n    x = -x\nreturn x", True),
        ("if x.max() > 1 or self.training:\n    x = -x\nreturn x", False),
        ("if x.max() > 1 and not self.training:\n    x = -x\nreturn x", False),
    ],
)
def test_a_number_that_only_training_reads(body: str, training: bool) -> None:
    tree = function(body)
    call = next(n for n in ast.walk(tree) if isinstance(n, ast.Call))
    assert liveness.for_training_only(tree, tree.body[0], call) is training


def test_what_a_draw_is_first_passed_to() -> None:
    tree = function("z = torch.randn(4) * self.scale\nz = self.decoder(z)\nreturn self.other(z)")
    draw = next(n for n in ast.walk(tree.body[0]) if isinstance(n, ast.Call))
    fed = liveness.fed_with(tree, tree.body[0], draw)
    assert fed is not None
    assert ast.unparse(fed[0]) == "self.decoder(z)"
    added = function("z = torch.randn(4) + x\nreturn self.decoder(z)")
    draw = next(n for n in ast.walk(added.body[0]) if isinstance(n, ast.Call))
    assert liveness.fed_with(added, added.body[0], draw) is None


@pytest.mark.parametrize(
    ("body", "above"),
    [
        ("self.h = x\nreturn self.h", True),
        ("y = self.h\nself.h = x\nreturn self.h", False),
        ("if y:\n    self.h = x\nreturn self.h", False),
        ("if y:\n    self.h = x\n    return self.h\nreturn x", True),
    ],
)
def test_an_attribute_that_every_way_to_a_statement_assigns(body: str, above: bool) -> None:
    tree = function(body)
    last = next(s for s in ast.walk(tree) if isinstance(s, ast.Return) and "self.h" in ast.unparse(s))
    assert liveness.assigned_above(tree.body, last, "h") is above
