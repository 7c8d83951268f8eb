"""Tests of a type: which arms a tensor, a list or a dict takes."""

from __future__ import annotations

import pytest
from analysing import findings_of

SOURCE = """
class M(nn.Module):
    def nested(self, xs):
        return [x if x.sum() > 0 else -x for x in xs]
    def forward(self, x):
        return self.any(x if {tensor} else [x, x])
    def any(self, v):
        if {test}:
            return self.nested(v)
        return v
"""


@pytest.mark.parametrize(
    ("tensor", "test", "runs"),
    [
        (True, "isinstance(v, list)", False),
        (True, "isinstance(v, (list, tuple))", False),
        (True, "isinstance(v, dict)", False),
        (True, "not isinstance(v, torch.Tensor)", False),
        (True, "isinstance(v, torch.Tensor)", True),
        (False, "isinstance(v, (list, tuple))", True),
        (False, "isinstance(v, torch.Tensor)", False),
        (False, "isinstance(v, list)", True),
    ],
)
def test_the_arm_of(tensor: bool, test: str, runs: bool) -> None:
    source = SOURCE.format(tensor=tensor, test=test)
    assert bool(findings_of(source)) == runs


TEST_TIME = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Conv2d(3, 3, 1)

    def forward(self, img, metas, scale=1.0):
        return self.forward_test(img, metas)

    def forward_test(self, imgs, metas):
        {said}
        if len(imgs) == 1:
            return self.net(imgs[0])
        return self.merge(imgs)

    def merge(self, imgs):
        total = self.net(imgs[0])
        for i in range(1, len(imgs)):
            total = total + self.net(imgs[i])
        return total / len(imgs) if total.sum() > 0 else total
"""


@pytest.mark.parametrize(
    ("said", "axis"),
    [
        ('"""\n        Args:\n            imgs (List[Tensor]): one batch for each scale.\n        """', False),
        (
            '"""\n        Args:\n            imgs (Tensor): one batch.\n        """',
            True,
        ),
        ("if not isinstance(imgs, (list, tuple)):\n            raise TypeError(type(imgs))", False),
        (
            'for given, name in [(imgs, "imgs"), (metas, "metas")]:\n'
            "            if not isinstance(given, list):\n"
            '                raise TypeError(f"{name} must be a list")',
            False,
        ),
        ("assert isinstance(imgs, list)", False),
        (
            "assert isinstance(imgs, list)\n        if self.single:\n            imgs = imgs[0]\n"
            "            return imgs.size(0)",
            False,
        ),
        ("assert isinstance(imgs, (list, Tensor))", True),
        ("assert isinstance(imgs, list) or imgs.shape[0] > 1", True),
    ],
)
def test_the_length_of_what_a_method_wants_as_a_list_is_no_axis(said: str, axis: bool) -> None:
    codes = {code for code, _, _ in findings_of(TEST_TIME.format(said=said))}
    assert "ONX101" in codes
    assert ("ONX107" in codes) is axis
