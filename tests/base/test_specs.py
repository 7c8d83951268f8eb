"""Spec strings: what is read, what is refused and where, and that printing is the inverse of reading."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxlint.base.probe_records import DimSpec, TensorSpec
from onnxlint.base.specs import DTYPES, SpecError, format_spec, parse_spec

NAMES = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,8}", fullmatch=True)
SIZES = st.integers(1, 4096)


@st.composite
def specs(draw: st.DrawFn) -> TensorSpec:
    dims = []
    for name, size in draw(st.dictionaries(NAMES, st.none() | SIZES, max_size=4)).items():
        dims.append(DimSpec(name, size))
        dims.extend(DimSpec(None, fixed) for fixed in draw(st.lists(SIZES, max_size=2)))
    return TensorSpec(draw(st.sampled_from(DTYPES)), tuple(dims))


@given(specs())
def test_what_is_printed_is_read_back(spec: TensorSpec) -> None:
    assert parse_spec(format_spec(spec)) == spec


@given(st.text(max_size=40))
def test_any_other_text_is_refused_at_a_position_inside_it(text: str) -> None:
    try:
        position = 0 if parse_spec(text) else -1
    except SpecError as error:
        position = error.position
    assert 0 <= position <= len(text)


def test_a_dim_is_a_size_a_name_or_both() -> None:
    assert parse_spec("float32[batch, 3, height=224]") == TensorSpec(
        "float32", (DimSpec("batch", None), DimSpec(None, 3), DimSpec("height", 224))
    )
    assert parse_spec(" bool [ ] ") == TensorSpec("bool", ())


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("flaot32[2]", 0, "did you mean `float32`"),
        ("long[2]", 0, "did you mean `int64`"),
        ("torch.float16[2]", 0, "did you mean `float16`"),
        ("", 0, "starts with a dtype"),
        ("float32", 7, "float32[]"),
        ("float32(2)", 0, "not a dtype"),
        ("float32 [2", 8, "never closed"),
        ("float32[2] x", 10, "follows"),
        ("float32[2,,3]", 10, "missing"),
        ("float32[2, 0]", 11, "from 1"),
        ("float32[2, a=b]", 11, "not a size"),
        ("float32[2, a-b]", 11, "not a dim"),
        ("float32[n=2, n=3]", 13, "`n` is 2 before and 3 here"),
    ],
)
def test_a_mistake_is_named_with_its_position(text: str, position: int, words: str) -> None:
    with pytest.raises(SpecError, match=r".*") as caught:
        parse_spec(text)
    assert words in caught.value.message
    assert caught.value.position == position
