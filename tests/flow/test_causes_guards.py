"""Guards that ask whether an exporter is at work: which exporter's trace comes through which arm."""

from __future__ import annotations

import textwrap

import pytest
from analysing import findings_of, found_and_expected, reported

BOTH = ("torchscript", "dynamo")
TORCHSCRIPT = ("torchscript",)
DYNAMO = ("dynamo",)
HAZARD = "x = x if x.sum() > 0 else -x"

# The guard, and the exporters whose trace enters the arm where it holds, and the one where it does not.
GUARDS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "torch.jit.is_tracing": ("torch.jit.is_tracing()", TORCHSCRIPT, DYNAMO),
    "torch.jit.is_scripting": ("torch.jit.is_scripting()", (), BOTH),
    "torch.compiler.is_exporting": ("torch.compiler.is_exporting()", DYNAMO, TORCHSCRIPT),
    "torch.compiler.is_compiling": ("torch.compiler.is_compiling()", DYNAMO, TORCHSCRIPT),
    "torch.onnx.is_in_onnx_export": ("torch.onnx.is_in_onnx_export()", BOTH, ()),
    "either": ("torch.jit.is_tracing() or torch.compiler.is_exporting()", BOTH, ()),
    "torchvision._is_tracing": ("torchvision._is_tracing()", TORCHSCRIPT, DYNAMO),
    "an old torch": ("torch.__version__ < '1.9'", (), BOTH),
    "a new torch": ("version.parse(torch.__version__) >= version.parse('1.10')", BOTH, ()),
    "an old torchvision": ("version.parse(torchvision.__version__) < version.parse('0.7')", (), BOTH),
    "not tracing": ("not torch.jit.is_tracing()", DYNAMO, TORCHSCRIPT),
    "training": ("self.training", (), BOTH),
    "not training": ("not self.training", BOTH, ()),
    "tracing and a flag": ("torch.jit.is_tracing() and self.flag", TORCHSCRIPT, BOTH),
    "gradients": ("torch.is_grad_enabled()", BOTH, BOTH),
    "a helper of the project": ("tracing()", TORCHSCRIPT, DYNAMO),
    "an attribute for it": ("self.exporting", BOTH, ()),
}
SOURCE = """
import torchvision
from packaging import version
def tracing():
    return torch.jit.is_scripting() or torch.jit.is_tracing()
class M(nn.Module):
    def __init__(self, flag, exporting):
        super().__init__()
        self.flag = flag
        self.exporting = exporting
    def forward(self, x):
"""


def bitten(body: str) -> dict[int, tuple[str, ...]]:
    """The exporters that suffer, by the line of the body (the first one is 1)."""
    source = SOURCE + textwrap.indent(textwrap.dedent(body).strip(), " " * 8) + "\n"
    found = findings_of(source)
    assert {code for code, _, _ in found} <= {"ONX101"}
    return {line - SOURCE.count("\n"): exporters for _, line, exporters in found}


@pytest.mark.parametrize(("guard", "yes", "no"), GUARDS.values(), ids=GUARDS.keys())
def test_the_arms_of(guard: str, yes: tuple[str, ...], no: tuple[str, ...]) -> None:
    body = f"if {guard}:\n    {HAZARD}\nelse:\n    {HAZARD}\nreturn x"
    assert bitten(body) == {n: e for n, e in ((2, yes), (4, no)) if e}


@pytest.mark.parametrize(("guard", "yes", "no"), GUARDS.values(), ids=GUARDS.keys())
def test_what_follows_an_early_return_under(guard: str, yes: tuple[str, ...], no: tuple[str, ...]) -> None:
    body = f"if {guard}:\n    return x\n{HAZARD}\nreturn x"
    assert bitten(body) == ({3: no} if no else {})


def test_a_guard_before_data_in_one_condition() -> None:
    assert bitten("if not torch.jit.is_tracing() and x.sum() > 0:\n    return x\nreturn -x") == {1: DYNAMO}
    assert bitten("if torch.jit.is_tracing() or x.sum() > 0:\n    return x\nreturn -x") == {1: DYNAMO}
    assert bitten("return x if torch.compiler.is_exporting() or x.sum() > 0 else -x") == {1: TORCHSCRIPT}


def test_a_guard_kept_in_a_name() -> None:
    body = f"quiet = torch.jit.is_tracing() or torch.compiler.is_exporting()\nif not quiet:\n    {HAZARD}\nreturn x"
    assert bitten(body) == {}


def test_a_guard_around_a_call() -> None:
    source = """
    class Check(nn.Module):
        def forward(self, x):
            if x.isnan().any():
                raise ValueError("nan")
            return x
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.check = Check()
            self.lin = nn.Linear(4, 4)
        def forward(self, x):
            if not torch.onnx.is_in_onnx_export():
                x = self.check(x)
            return self.lin(x)
    """
    assert findings_of(source) == set()


def test_a_scripted_helper_keeps_its_control_flow_in_torchscript() -> None:
    source = """
    @torch.jit.script
    def gate(x):
        if x.sum() > 0:
            return x
        return -x
    class M(nn.Module):
        def forward(self, x):
            return gate(x)
    """
    assert findings_of(source) == {("ONX101", 4, DYNAMO)}


def test_script_if_tracing_does_so_too() -> None:
    source = """
    @torch.jit.script_if_tracing
    def gate(x):
        if x.sum() > 0:
            return x
        return -x
    class M(nn.Module):
        def forward(self, x):
            return gate(x)
    """
    assert findings_of(source) == {("ONX101", 4, DYNAMO)}


def test_what_a_buffer_says_is_initialized_is_not_made_by_an_export() -> None:
    source = """
        class Codes(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("{name}", torch.zeros(1))
                self.register_buffer("embed", torch.zeros(4, 4))

            def begin(self, x):
                if self.{name}:
                    return
                self.embed.copy_(x[:4] * torch.rand(4, 4))

            def forward(self, x):
                self.begin(x)
                return x @ self.embed
    """
    assert {code for code, _, _ in findings_of(source.format(name="inited"))} == {"ONX101"}
    assert {code for code, _, _ in findings_of(source.format(name="frozen"))} == {"ONX101", "ONX304", "ONX305"}


def test_an_export_runs_in_one_process() -> None:
    source = """
        import torch.distributed as dist

        def ready():
            return dist.is_available() and dist.is_initialized()

        def workers():
            return dist.get_world_size() if ready() else 1

        class M(nn.Module):
            def forward(self, x):
                if workers() > 1:
                    x = x * x.max().item()
                if workers() < 2:
                    x = x * x.min().item()  # expect: ONX401
                return x
    """
    found, expected = found_and_expected(source)
    assert found == expected


@pytest.mark.parametrize(
    ("test", "shown"),
    [
        ("self.config.attention == 'flash_attention_2'", False),
        ("self.config.attention != 'flash_attention_2'", True),
        ("self.config.attention == 'eager'", True),
    ],
)
def test_kernels_of_flash_attention_are_a_setting_that_is_off(test: str, shown: bool) -> None:
    source = f"""
        class M(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.config = config
            def forward(self, x):
                if {test}:
                    x = x * x.min().item()  # expect: ONX401
                return x
    """
    found, expected = found_and_expected(source)
    assert found == (expected if shown else [])


@pytest.mark.parametrize(
    ("arm", "exporters"),
    [
        ("print(x)", DYNAMO),
        ("logger = get_logger()\n    logger.warning('large')", DYNAMO),
        ("pass", DYNAMO),
        ("assert self.width == 3", DYNAMO),
        ("if self.width != 3:\n        print(x)\n    else:\n        pass", DYNAMO),
        ("if self.width != 3:\n        x = x + 1", BOTH),
        ("logger = get_logger()\n    x = logger(x)", BOTH),
    ],
)
def test_an_arm_that_only_talks_is_not_felt_in_the_file(arm: str, exporters: tuple[str, ...]) -> None:
    assert bitten(f"if x.mean() > 50:\n    {arm}\nreturn x") == {1: exporters}
    if exporters == DYNAMO:
        assert bitten(f"if x.shape[0] > 1:\n    {arm}\nreturn x") == {}


SELDOM_TAKEN = {
    "an arm for one sample without a batch": """
        class M(nn.Module):
            def forward(self, wav):
                if wav.ndim == 1:
                    return wav.squeeze() if wav.sum() > 0 else wav
                return wav * 2
    """,
    "an arm of a version of torch by the text of it": """
        def old():
            return any(torch.__version__.startswith(v) for v in ["1.7.", "1.8."])
        class M(nn.Module):
            def forward(self, x):
                if old():
                    return x if x.sum() > 0 else -x
                return x * 2
    """,
    "what the constructor builds where a setting is changed": """
        class Mixed(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x
        class M(nn.Module):
            def __init__(self, experts=0):
                super().__init__()
                if experts > 0:
                    self.inner = Mixed()
                else:
                    self.inner = nn.Linear(3, 3)
            def forward(self, x):
                return self.inner(x)
    """,
    "the class of a tensor": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.window = torch.ones(1, 1, 3, 3)
            def forward(self, x):
                if self.window.type() != x.type():
                    return x
                return x * 2
    """,
    "what training leaves where `deploy` is on": """
        class M(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.deploy = config["deploy"]
            def forward(self, x):
                if not self.deploy:
                    return x if x.sum() > 0 else -x
                return x * 2
    """,
    "how many colours there are": """
        class M(nn.Module):
            def forward(self, x):
                _, channels, _, _ = x.shape
                if channels == 3:
                    return x * 2
                return x[:, :3]
    """,
    "a number that is constant in exports on purpose": """
        class M(nn.Module):
            def forward(self, x):
                if torch.onnx.is_in_onnx_export():
                    return x / torch.from_numpy(x.sum().detach().cpu().numpy())
                return x / x.sum()
    """,
    "a loop over a tensor that is stacked from a list": """
        class M(nn.Module):
            def __init__(self, cameras):
                super().__init__()
                self.cameras = cameras
            def forward(self, x):
                points = torch.stack([x * camera for camera in self.cameras])
                return sum(p * 2 for p in points)
    """,
    "a write into one row on the spot": """
        class M(nn.Module):
            def forward(self, x, index):
                y = x * 2
                y[0][index] = 1.0
                return y
    """,
}


@pytest.mark.parametrize("source", SELDOM_TAKEN.values(), ids=SELDOM_TAKEN.keys())
def test_no_objection_to(source: str) -> None:
    assert findings_of(source) == set()


def test_what_one_exporter_alone_reads_is_no_matter_to_the_other_where_it_is_used() -> None:
    """`tolist()` stands in dynamo's arm, and both come to the loop behind it."""
    found = findings_of("""
        import torchvision
        class M(nn.Module):
            def forward(self, x, shapes):
                sizes = shapes * 1
                if torchvision._is_tracing():
                    sizes = sizes.unbind(0)
                else:
                    sizes = sizes.tolist()
                return [torch.zeros(int(s)) + x.sum() for s in sizes]
    """)
    assert {exporters for code, _, exporters in found if code == "ONX401"} <= {("dynamo",)}


def test_the_tests_of_one_chain_are_about_what_the_first_asks() -> None:
    """They choose together, and are shown as one; of another chain they are not."""
    found = reported("""
        class M(nn.Module):
            def forward(self, x, y, z):
                if (x - y).abs() < 1:
                    return x
                elif x.sum() > y.sum():
                    return y
                if z.sum() > 0:
                    return z
                return x + y
    """)
    about = [f.about for f in found if f.code == "ONX101"]
    assert len(about) == 3
    assert about[0] == about[1] != about[2]
