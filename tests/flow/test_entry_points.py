"""Where the analysis starts: what a project exports, else the models that nothing else holds."""

from analysing import analysed, told

MODELS = """
class Inner(nn.Module):
    def forward(self, x: Tensor):
        return x if x.sum() > 0 else -x
class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def forward(self, x: Tensor):
        return self.inner(x)
"""
BRANCH = "Branch data: x.sum() > 0"


def test_a_model_that_another_holds_runs_as_that_calls_it() -> None:
    assert BRANCH in told(MODELS)


def test_what_a_script_exports_runs() -> None:
    seen = told(MODELS + "torch.onnx.export(Outer().eval(), torch.zeros(1), 'm.onnx')\n")
    assert BRANCH in seen
    assert any(line.startswith("ExportCall") for line in seen)


def test_a_function_without_a_model_is_no_entry_point() -> None:
    assert told("def helper(x):\n    return x if x.sum() > 0 else -x\n") == []


def test_what_another_model_chooses_is_no_model_of_its_own() -> None:
    models = """
class Plain(nn.Module):
    def forward(self, x: Tensor, mask: Tensor):
        return x + 1, mask
class Outer(nn.Module):
    def __init__(self, kind: str = 'none'):
        super().__init__()
        choice = nn.Identity
        if kind == 'plain':
            choice = Plain
        self.inner = choice()
    def forward(self, x: Tensor):
        return x.sigmoid()
"""
    assert [o.text for o in analysed(models.replace("= Plain", "= Plainer")).observations] == ["mask"]
    assert [o.text for o in analysed(models).observations] == []
