"""Dynamic sizes where an operator, or Python, takes a number."""

import pytest
from analysing import told

MODEL = "class M(nn.Module):\n    def forward(self, x: Tensor):\n        n = x.shape[0]\n        return {made}\n"
SEEN = {
    "F.adaptive_avg_pool1d(x, 1)": "",
    "F.avg_pool1d(x, n)": "SizeAttribute",
    "x.chunk(n)": "SizeSplit",
    "torch.linspace(0, 1, n) * x": "FactorySize",
    "torch.arange(n) * x": "",
    "{3: x}[n]": "SizeKey",
    "x.squeeze(0)": "Squeeze",
}


@pytest.mark.parametrize(("made", "kind"), SEEN.items())
def test_what_is_observed_of_a_size(made: str, kind: str) -> None:
    kinds = {line.split()[0].rstrip(":") for line in told(MODEL.format(made=made))} & set(SEEN.values())
    assert kinds == ({kind} if kind else set())


@pytest.mark.parametrize(
    ("how", "refused"),
    [
        ("scale_factor=0.5, mode='area'", True),
        ("None, 0.5, 'area'", True),
        ("size=(4, 3), mode='area'", False),
        ("scale_factor=0.5", False),
    ],
)
def test_an_area_by_a_factor_is_a_pooling_to_no_fixed_size(how: str, refused: bool) -> None:
    calls = [line for line in told(MODEL.format(made=f"F.interpolate(x, {how})")) if line.startswith("Call")]
    assert bool(calls) is refused


CUT = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 1)
    def forward(self, x, y):
        n = x.shape[0]
        return {made}
"""


@pytest.mark.parametrize(
    ("made", "cut"),
    [
        ("torch.cat([x, y], 0).chunk(2, 0)", True),
        ("torch.chunk(self.conv(torch.cat((x, y), dim=0)), 2, dim=0)", True),
        ("self.conv(torch.cat([x, y])).split(n, dim=0)", True),
        ("self.conv(x).split(n // 2)", True),
        ("self.conv(torch.cat([x, y])).split([n, n])", False),
        ("self.conv(x).chunk(2, 1)", False),
        ("torch.ones(4, 2).split(2)", False),
    ],
)
def test_a_batch_is_cut(made: str, cut: bool) -> None:
    assert any(line.startswith("SizeSplit") for line in told(CUT.format(made=made))) is cut


@pytest.mark.parametrize(("size", "seen"), [("queries.shape[0]", 0), ("x.shape[0]", 1), ("queries.shape[1]", 1)])
def test_what_is_repeated_by_the_batch_of_another_input_has_one_row(size: str, seen: int) -> None:
    forward = f"    def forward(self, x: Tensor, queries: Tensor):\n        return x.repeat_interleave({size}, 0)\n"
    assert len(told(f"class M(nn.Module):\n{forward}")) == seen


@pytest.mark.parametrize(
    ("grown", "made", "seen"),
    [
        ("", "y[None]", 0),
        ("", "y", 1),
        ("for d in sorted((0, 2, 3)):\n            y = y.unsqueeze(d)", "y", 0),
        ("", "x", 1),
    ],
)
def test_a_constant_of_unknown_size_that_is_repeated_by_the_batch_has_one_row(grown: str, made: str, seen: int) -> None:
    forward = f"    def forward(self, x: Tensor):\n        y = torch.arange(3)\n        {grown}\n"
    assert len(told(f"class M(nn.Module):\n{forward}        return {made}.repeat_interleave(x.shape[0], 0)\n")) == seen


def test_what_is_repeated_until_it_fills_the_batch_has_any_number_of_rows() -> None:
    held = "super().__init__()\n        self.register_buffer('held', torch.zeros(*d))"
    head = f"class M(nn.Module):\n    def __init__(self, d):\n        {held}\n    def forward(self, x: Tensor):\n"
    repeated = "        return self.held.repeat_interleave({}, dim=0) + x.sum()\n"
    assert told(head + repeated.format("x.shape[0] // 2")) != []
    assert told(head + repeated.format("x.shape[0]")) == []
