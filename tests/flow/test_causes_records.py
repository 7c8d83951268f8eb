"""Records and types: a hazard there is found at its line, and the same code without one stays silent."""

from __future__ import annotations

import pytest
from analysing import found_and_expected

CASES = {
    "a dataclass that forward returns": """
        from dataclasses import dataclass
        @dataclass
        class Out:
            logits: Tensor
            count: int = 0
            hidden: Tensor | None = None
        class Inner(nn.Module):
            def forward(self, x):
                return Out(logits=x * 2, count=3)
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()
            def forward(self, x):
                out = self.inner(x)
                if out.count > 2:
                    x = x + 1
                if out.hidden is None:
                    x = x + 2
                if out.logits.sum() > 0:  # expect: ONX101
                    x = x + 3
                return x
    """,
    "a NamedTuple": """
        from typing import NamedTuple
        class Out(NamedTuple):
            logits: Tensor
            count: int
        class Inner(nn.Module):
            def forward(self, x):
                return Out(x * 2, 3)
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()
            def forward(self, x):
                out = self.inner(x)
                if out.count > 2 and out[1] > 1:
                    x = x + 1
                logits, count = out
                if count > 1:
                    x = x + 2
                return x if logits.sum() > 0 else -x  # expect: ONX101
    """,
    "collections.namedtuple": """
        from collections import namedtuple
        Out = namedtuple("Out", ["logits", "count"])
        class M(nn.Module):
            def forward(self, x):
                out = Out(x * 2, 3)
                if out.count > 2:
                    x = x + 1
                return x if out.logits.sum() > 0 else -x  # expect: ONX101
    """,
    "a TypedDict": """
        from typing import TypedDict
        class Batch(TypedDict):
            image: Tensor
            scale: float
        class M(nn.Module):
            def forward(self, batch: Batch):
                x = batch["image"]
                return x if x.sum() > 0 else -x  # expect: ONX101
    """,
    "a dict that forward returns": """
        class Inner(nn.Module):
            def forward(self, x):
                return {"logits": x * 2, "count": 3}
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()
            def forward(self, x):
                out = self.inner(x)
                if out["count"] > 2 and "logits" in out:
                    x = x + 1
                return x if out["logits"].sum() > 0 else -x  # expect: ONX101
    """,
    "a ModelOutput": """
        from dataclasses import dataclass
        from transformers.utils import ModelOutput
        @dataclass
        class Out(ModelOutput):
            loss: Tensor | None = None
            logits: Tensor | None = None
        class Inner(nn.Module):
            def forward(self, x, return_dict=True):
                if not return_dict:
                    return (x,)
                return Out(logits=x * 2)
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()
            def forward(self, x):
                out = self.inner(x)
                if out.loss is not None:
                    x = x + out.loss
                if out["logits"].sum() > 0:  # expect: ONX101
                    x = x + 1
                first = out[0]
                return x if first.mean() > 0 else -x  # expect: ONX101
    """,
    "isinstance narrows": """
        class M(nn.Module):
            def forward(self, x, scale: Tensor | float = 1.0):
                if isinstance(scale, Tensor):
                    x = x * scale
                    if scale.sum() > 0:  # expect: ONX101
                        x = x + 1
                elif scale > 0.5:
                    x = x + 2
                if not isinstance(scale, Tensor):
                    if scale > 0:
                        x = x + 3
                return x
    """,
    "isinstance narrows and returns early": """
        class M(nn.Module):
            def forward(self, x, scale: Tensor | float = 1.0):
                if not torch.is_tensor(scale):
                    return x * (scale if scale > 0 else 1.0)
                return x if scale.sum() > 0 else -x  # expect: ONX101
    """,
    "isinstance in a conditional expression": """
        class M(nn.Module):
            def forward(self, x, size: Tensor | int = 4):
                size = size if isinstance(size, int) else size.item()  # expect: ONX401
                return F.pad(x, (0, size))
    """,
    "Optional tensors": """
        from typing import Optional
        class M(nn.Module):
            def forward(self, x, mask: Optional[Tensor] = None, depth: Optional[int] = None):
                if mask is not None and depth is not None and depth > 2:
                    x = x * mask
                if mask is not None and mask.sum() > 0:  # expect: ONX101
                    x = x + 1
                return x
    """,
    "lists of tensors by annotation": """
        from typing import Dict, List, Tuple
        class M(nn.Module):
            def forward(self, xs: List[Tensor], named: Dict[str, Tensor], pair: Tuple[Tensor, int]):
                x = xs[0]
                if len(xs) > 2:
                    x = x + 1
                if pair[1] > 2:
                    x = x + 2
                if named["a"].sum() > 0:  # expect: ONX101
                    x = x + 3
                for y in xs:
                    if y.sum() > 0:  # expect: ONX101
                        x = x + y
                return x
    """,
    "an enum": """
        from enum import Enum, auto
        class Mode(Enum):
            FAST = auto()
            SLOW = auto()
        class M(nn.Module):
            def __init__(self, mode=Mode.FAST):
                super().__init__()
                self.mode = mode
            def forward(self, x, how: Mode = Mode.SLOW):
                if self.mode is Mode.FAST or how == Mode.SLOW:
                    return x if x.sum() > 0 else -x  # expect: ONX101
                return x
    """,
    "slots of a plain object": """
        class State:
            def __init__(self, x, depth):
                self.x = x
                self.depth = depth
            def total(self):
                return self.x.sum()
        class M(nn.Module):
            def forward(self, x):
                state = State(x, 3)
                if state.depth > 2:
                    x = x + 1
                state.y = x * 2
                if state.y.sum() > 0:  # expect: ONX101
                    x = x + 2
                return x if state.total() > 0 else -x  # expect: ONX101
    """,
    "a dataclass field changed by replace": """
        import dataclasses
        @dataclasses.dataclass
        class State:
            x: Tensor
            depth: int
            def doubled(self):
                return dataclasses.replace(self, x=self.x * 2)
        class M(nn.Module):
            def forward(self, x):
                state = State(x, 3).doubled()
                if state.depth > 2:
                    x = x + 1
                return x if state.x.sum() > 0 else -x  # expect: ONX101
    """,
    "a type alias": """
        from typing import Union
        Maybe = Union[Tensor, None]
        class M(nn.Module):
            def forward(self, x: Tensor, mask: Maybe = None) -> Tensor:
                if mask is None:
                    return x
                return x if mask.any() else -x  # expect: ONX101
    """,
}


@pytest.mark.parametrize("source", CASES.values(), ids=CASES.keys())
def test_findings_are_those_marked(source: str) -> None:
    found, expected = found_and_expected(source)
    assert found == expected
