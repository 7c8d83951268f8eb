"""What evaluates a node is the method whose annotation names its kind."""

from __future__ import annotations

import ast

from onnxlint.flow.interpreter.expressions import by_kind


class Named:
    def e_loop(self, node: ast.For | ast.AsyncFor) -> None: ...

    def e_call(self, node: ast.Call) -> None: ...

    def other(self, node: ast.Name) -> None: ...


class Typed(Named):
    def e_name(self, node: object) -> None: ...

    e_name.__annotations__["node"] = ast.Name | ast.Attribute


def test_a_method_takes_every_kind_that_its_annotation_names_be_it_a_text_or_a_type() -> None:
    usual = {ast.For: Named.e_loop, ast.AsyncFor: Named.e_loop, ast.Call: Named.e_call}
    assert by_kind(Named, "e_") == usual
    assert by_kind(Typed, "e_") == {**usual, ast.Name: Typed.e_name, ast.Attribute: Typed.e_name}
