"""Forward hooks: a hazard there is found at its line, and the same code without one stays silent."""

from __future__ import annotations

import pytest
from analysing import found_and_expected

CASES = {
    "a hook that a factory gives to some of the layers": """
        def clip(module, args, output):
            if output.abs().max() > 4:  # expect: ONX101
                return output.clamp(-4, 4)
            return output
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
            def forward(self, x):
                return self.body(x)
        def build():
            model = M().eval()
            for layer in model.body:
                if isinstance(layer, nn.Linear):
                    layer.register_forward_hook(clip)
            return model
        def main(path):
            torch.onnx.export(build(), (torch.randn(2, 4),), path, dynamic_shapes={"x": {0: "batch"}})
    """,
    "a hook on a layer of which nothing is known": """
        class M(nn.Module):
            def __init__(self, body, name):
                super().__init__()
                self.body = body
                layer = dict(body.named_modules())[name]
                layer.register_forward_hook(self.keep)
            def keep(self, module, args, output):
                self.scale = output.max().item()  # expect: ONX401
                return output * self.scale
            def forward(self, x):
                return self.body(x)
    """,
    "a forward hook of the module itself": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(4, 4)
                self.register_forward_hook(clip)
            def forward(self, x):
                return self.lin(x)
        def clip(module, args, output):
            if output.abs().max() > 1:  # expect: ONX101
                return output / 2
            return output
        class Good(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(4, 4)
                self.register_forward_hook(fine)
            def forward(self, x):
                return self.lin(x)
        def fine(module, args, output):
            return output.clamp(-1, 1)
    """,
    "a forward hook of a layer": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(4, 4)
                self.lin.register_forward_hook(self._watch)
            def forward(self, x):
                return self.lin(x)
            def _watch(self, module, args, output):
                if output.isnan().any():  # expect: ONX101
                    return torch.zeros_like(output)
    """,
    "a pre-hook of a layer": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(4, 4)
                self.lin.register_forward_pre_hook(scale)
            def forward(self, x):
                return self.lin(x)
        def scale(module, args):
            (x,) = args
            return (x * float(x.abs().max()),)  # expect: ONX401
    """,
    "a pre-hook with keyword arguments": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(4, 4)
                self.lin.register_forward_pre_hook(scale, with_kwargs=True)
            def forward(self, x):
                return self.lin(x)
        def scale(module, args, kwargs):
            x = args[0]
            if x.sum() > 0:  # expect: ONX101
                return (x * 2,), kwargs
            return args, kwargs
    """,
    "a hook set by a factory": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(4, 4)
            def forward(self, x):
                return self.lin(x)
        def build():
            model = M()
            model.lin.register_forward_hook(stop)
            return model.eval()
        def stop(module, args, output):
            if output.sum() > 0:  # expect: ONX101
                return output * 2
            return output
        def main(path):
            model = build()
            torch.onnx.export(model, (torch.randn(2, 4),), path, dynamic_shapes=({0: "b"},))
    """,
    "a hook made by a lambda or a method of another object": """
        class Probe:
            def __init__(self):
                self.seen = None
            def __call__(self, module, args, output):
                if output.mean() > 0:  # expect: ONX101
                    return output + 1
                return output
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(4, 4)
                self.lin.register_forward_hook(Probe())
            def forward(self, x):
                return self.lin(x)
    """,
    "hooks on every layer of a kind": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
                for block in self.blocks:
                    block.register_forward_hook(self.after)
            def forward(self, x):
                for block in self.blocks:
                    x = block(x)
                return x
            def after(self, module, args, output):
                return output if output.sum() > 0 else -output  # expect: ONX101
    """,
}


@pytest.mark.parametrize("source", CASES.values(), ids=CASES.keys())
def test_findings_are_those_marked(source: str) -> None:
    found, expected = found_and_expected(source)
    assert found == expected
