"""The operator table: it loads without torch, knows the facts that the rules rest on, and is what its script makes."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from onnxlint.flow.tables import operator_table
from onnxlint.flow.tables.operator_table import Op, OpTable
from onnxlint.flow.tables.torch_versions import shipped

ROOT = Path(__file__).resolve().parents[3]
RETURNS = {
    "tensor", "tensors", "int", "float", "bool", "scalar", "dim", "shape", "list", "array", "none", "other",
}  # fmt: skip
NEVER = None


@pytest.fixture(scope="module")
def table() -> OpTable:
    return OpTable.load("2.13")


def known(table: OpTable, name: str) -> Op:
    op = table.get(name)
    assert op is not None, f"{name} is not in the table"
    return op


@pytest.mark.parametrize(
    ("name", "returns"),
    [
        ("torch.Tensor.shape", "shape"),
        ("torch.Tensor.size", "shape"),
        ("torch.Tensor.dim", "int"),
        ("torch.Tensor.ndim", "int"),
        ("torch.Tensor.numel", "dim"),
        ("torch.numel", "dim"),
        ("torch.Tensor.__len__", "dim"),
        ("torch.Tensor.dtype", "other"),
        ("torch.Tensor.device", "other"),
        ("torch.Tensor.is_cuda", "bool"),
        ("torch.Tensor.is_floating_point", "bool"),
        ("torch.is_tensor", "bool"),
        ("torch.Tensor.T", "tensor"),
        ("torch.Tensor.mT", "tensor"),
        ("torch.Tensor.real", "tensor"),
        ("torch.abs", "tensor"),
        ("torch.absolute", "tensor"),
        ("torch.chunk", "tensors"),
        ("torch.Tensor.split", "tensors"),
        ("torch.topk", "tensors"),
        ("torch.linalg.svd", "tensors"),
        ("torch.nn.functional.relu", "tensor"),
        ("torch.nn.functional.sigmoid", "tensor"),
        ("torch.nn.LSTM", "tensors"),
        ("torch.nn.MultiheadAttention", "tensors"),
        ("torch.nn.Linear", "tensor"),
    ],
)
def test_what_comes_back_without_reading_data(table: OpTable, name: str, returns: str) -> None:
    op = known(table, name)
    assert (op.returns, op.reads_data) == (returns, False)


@pytest.mark.parametrize(
    ("name", "returns"),
    [
        ("torch.Tensor.item", "scalar"),
        ("torch.Tensor.tolist", "list"),
        ("torch.Tensor.numpy", "array"),
        ("torch.Tensor.__bool__", "bool"),
        ("torch.Tensor.__int__", "int"),
        ("torch.Tensor.__float__", "float"),
        ("torch.equal", "bool"),
        ("torch.allclose", "bool"),
        ("torch.is_nonzero", "bool"),
        ("torch.Tensor.equal", "bool"),
    ],
)
def test_what_reads_tensor_data_into_python(table: OpTable, name: str, returns: str) -> None:
    op = known(table, name)
    assert (op.returns, op.reads_data) == (returns, True)
    assert not op.lowering, "a Python value is not an operator"


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        ("torch.nonzero", None),
        ("torch.Tensor.nonzero", None),
        ("torch.argwhere", None),
        ("torch.unique", None),
        ("torch.Tensor.unique", None),
        ("torch.masked_select", None),
        ("torch.bincount", None),
        ("torch.repeat_interleave", "tensor repeats"),
        ("torch.where", "one argument"),
        ("torch.nn.functional.one_hot", "num_classes=-1"),
        ("torch.Tensor.__getitem__", "boolean index"),
    ],
)
def test_output_shapes_that_depend_on_data(table: OpTable, name: str, condition: str | None) -> None:
    op = known(table, name)
    assert op.data_shape
    assert op.only_if.get("data_shape") == condition


@pytest.mark.parametrize("name", ["torch.sort", "torch.topk", "torch.gather", "torch.nonzero_static", "torch.cumsum"])
def test_output_shapes_that_do_not_depend_on_data(table: OpTable, name: str) -> None:
    assert not known(table, name).data_shape


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        ("torch.rand", None),
        ("torch.randn_like", None),
        ("torch.bernoulli", None),
        ("torch.multinomial", None),
        ("torch.normal", None),
        ("torch.Tensor.normal_", None),
        ("torch.Tensor.uniform_", None),
        ("torch.nn.functional.gumbel_softmax", None),
        ("torch.nn.functional.dropout", "training=True"),
        ("torch.nn.functional.dropout2d", "training=True"),
        ("torch.nn.Dropout", "training=True"),
        ("torch.nn.functional.scaled_dot_product_attention", "dropout_p>0"),
    ],
)
def test_random_operators(table: OpTable, name: str, condition: str | None) -> None:
    op = known(table, name)
    assert op.random
    assert op.only_if.get("random") == condition


@pytest.mark.parametrize("name", ["torch.add", "torch.nn.functional.relu", "torch.zeros", "torch.nn.Linear"])
def test_operators_without_effects(table: OpTable, name: str) -> None:
    op = known(table, name)
    assert not any((op.random, op.inplace, op.complex, op.view, op.reads_data, op.data_shape))


@pytest.mark.parametrize("name", ["add_", "copy_", "masked_fill_", "index_add_", "__setitem__", "__iadd__"])
def test_in_place_methods(table: OpTable, name: str) -> None:
    op = table.method(name)
    assert op is not None
    assert op.inplace


@pytest.mark.parametrize("name", ["view", "transpose", "expand", "__getitem__", "T", "detach", "split", "reshape"])
def test_methods_whose_result_may_alias_the_tensor(table: OpTable, name: str) -> None:
    op = table.method(name)
    assert op is not None
    assert op.view
    assert not op.inplace


@pytest.mark.parametrize(
    "name", ["torch.fft.fft", "torch.fft.rfft", "torch.complex", "torch.polar", "torch.linalg.eig"]
)
def test_operators_that_make_complex_numbers(table: OpTable, name: str) -> None:
    assert known(table, name).complex


@pytest.mark.parametrize(
    ("name", "torchscript", "dynamo"),
    [
        ("torch.abs", 9, 18),
        ("torch.nn.functional.relu", 9, 18),
        ("torch.nn.Conv2d", 9, 18),
        ("torch.triu", 14, 18),
        ("torch.einsum", 12, 18),
        ("torch.Tensor.__getitem__", 9, 18),
        ("torch.Tensor.__setitem__", 11, 18),
        ("torch.nonzero", 9, 18),
        ("torch.unique", 11, 18),
        ("torch.nn.functional.scaled_dot_product_attention", 14, 18),
        ("torch.nn.functional.grid_sample", 16, 18),
        ("torch.fft.rfft", NEVER, 18),
        ("torch.fft.irfft", NEVER, 18),
        ("torch.quantile", NEVER, 18),
        ("torch.bincount", NEVER, 18),
        ("torch.cond", NEVER, 18),
        ("torch.nn.functional.l1_loss", NEVER, 18),
        ("torch.Tensor.data", 9, NEVER),
        ("torch.Tensor.T", 9, 18),
        ("torch.Tensor.mT", NEVER, 18),
        ("torch.Tensor.bitwise_or_", 9, 18),
        ("torch.Tensor.__invert__", 9, 18),
        ("torch.median", NEVER, NEVER),
        ("torch.inverse", NEVER, NEVER),
        ("torch.linalg.inv", NEVER, NEVER),
        ("torch.linalg.svd", NEVER, NEVER),
        ("torch.kthvalue", NEVER, NEVER),
        ("torch.cumprod", NEVER, NEVER),
        ("torch.masked_select", 11, NEVER),
        ("torch.nn.utils.rnn.pack_padded_sequence", 9, NEVER),
    ],
)
def test_what_each_exporter_lowers_and_since_when(
    table: OpTable, name: str, torchscript: int | None, dynamo: int | None
) -> None:
    assert dict(known(table, name).lowering) == {"torchscript": torchscript, "dynamo": dynamo}


NOT_A_FACTOR = "output_size not a factor of the input's"


@pytest.mark.parametrize(
    ("name", "exporter", "when", "outcome"),
    [
        ("torch.nn.functional.interpolate", "torchscript", "antialias=True", "refused"),
        ("torch.index_add", "torchscript", "repeated indices", "wrong"),
        ("torch.Tensor.index_add_", "torchscript", "repeated indices", "wrong"),
        ("torch.index_add", "torchscript", "alpha", "refused"),
        ("torch.nn.functional.batch_norm", "dynamo", "training=True", "wrong"),
        ("torch.floor_divide", "torchscript", "negative quotient", "wrong"),
        ("torch.Tensor.__floordiv__", "torchscript", "negative quotient", "wrong"),
        (
            "torch.nn.functional.adaptive_avg_pool2d",
            "torchscript",
            "output_size not a factor of the input's",
            "refused",
        ),
        ("torch.nn.functional.avg_pool2d", "torchscript", "divisor_override", "wrong"),
        ("torch.stft", "torchscript", "return_complex=True", "refused"),
        ("torch.scatter", "torchscript", "reduce", "refused"),
    ],
)
def test_arguments_that_one_exporter_does_not_survive(
    table: OpTable, name: str, exporter: str, when: str, outcome: str
) -> None:
    assert operator_table.Condition(exporter, when, outcome) in known(table, name).unless


def test_lowers_depends_on_the_opset_and_is_none_where_unknown(table: OpTable) -> None:
    triu = known(table, "torch.triu")
    assert (triu.lowers("torchscript", 13), triu.lowers("torchscript", 14)) == (False, True)
    assert known(table, "torch.median").lowers("dynamo", 23) is False
    assert known(table, "torch.Tensor.item").lowers("dynamo", 18) is None


def test_returns_change_with_an_argument(table: OpTable) -> None:
    assert known(table, "torch.max").returns_if["dim"] == "tensors"
    assert known(table, "torch.nonzero").returns_if["as_tuple"] == "tensors"
    assert known(table, "torch.nn.functional.max_pool2d").returns_if["return_indices"] == "tensors"
    assert known(table, "torch.Tensor.size").returns_if["dim"] == "dim"


def test_names_of_one_operator_share_it(table: OpTable) -> None:
    assert table.get("torch.nonzero") is table.method("nonzero")
    assert table.get("torch.functional.einsum") is table.get("torch.einsum")
    assert table.get("torch.no_such_operator") is None
    assert table.method("no_such_method") is None


def test_every_row_is_well_formed(table: OpTable) -> None:
    for name in table.names():
        op = known(table, name)
        assert op.returns in RETURNS, name
        assert set(op.returns_if.values()) <= RETURNS, name
        assert set(op.only_if) <= {"data_shape", "random"}, name
        assert set(op.lowering) <= {"torchscript", "dynamo"}, name
        assert all(opset is None or 9 <= opset <= 23 for opset in op.lowering.values()), name
        assert {c.outcome for c in op.unless} <= {"refused", "wrong", "runtime-error"}, name
        assert all(op.lowering.get(exporter) is not None for exporter in op.wrong), name


def test_the_table_is_stamped(table: OpTable) -> None:
    assert set(table.versions) == {"torch", "onnxscript", "onnxruntime"}
    assert all(version[0].isdigit() for version in table.versions.values())


def test_loading_imports_no_torch() -> None:
    code = (
        "import sys; from onnxlint.flow.tables.operator_table import OpTable; assert OpTable.load().get('torch.abs');"
        "print(json.dumps(sorted({m.partition('.')[0] for m in sys.modules} & {'torch', 'numpy', 'onnx'})))"
    )
    out = subprocess.run([sys.executable, "-c", "import json\n" + code], capture_output=True, text=True, check=True)
    assert json.loads(out.stdout) == []


def test_the_versions_that_onnxlint_is_tested_with_have_a_table() -> None:
    lines = (ROOT / ".ci" / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line)
    stamps = [dict(OpTable.load(version).versions) for version in shipped()]
    assert {name: pinned[name] for name in ("torch", "onnxscript", "onnxruntime")} in stamps


OVERLAY = json.loads((ROOT / "onnxlint" / "flow" / "tables" / "overlay.json").read_text(encoding="utf-8"))
SPELLED = ("", "torch.", "torch.nn.", "torch.nn.functional.", "torch.Tensor.", "torch.fft.", "fft_")


@pytest.mark.parametrize("entry", OVERLAY, ids=lambda entry: f"{entry['form']}: {entry['names'][0]}")
def test_an_entry_of_the_overlay_names_its_source_and_versions_and_operators_that_torch_has(
    entry: dict[str, Any],
) -> None:
    required, more = {"form", "names", "outcomes", "source", "measured"}, {"arguments", "limit", "seen", "unshown"}
    assert required <= set(entry) <= required | more | {"assumed", "unlisted"}
    of_torch = any(name.partition(".")[0] == "torch" for name in entry["names"])
    assert entry["measured"] or not of_torch, "what is said of torch is measured"
    assert set(entry["outcomes"]) <= set(entry.get("seen", entry["outcomes"])) or entry["unshown"]
    assert entry["source"] == "measured" or "documentation" in entry["source"] or entry["source"].startswith("rules/")
    assert not entry["source"].startswith("rules/") or (ROOT / entry["source"]).is_file()
    assert entry["source"] == "measured" or "measured" not in entry["source"]
    known_versions = {OpTable.load(version).versions["torch"] for version in shipped()}
    assert set(entry["measured"]) <= known_versions
    assert set(entry.get("assumed", ())) <= known_versions - set(entry["measured"])
    for table in (OpTable.load(v) for v in shipped() if OpTable.load(v).versions["torch"] in entry["measured"]):
        for name in entry["names"]:
            listed = name in table._rows or any(table.get(spelled + name) for spelled in SPELLED)
            assert listed or entry.get("unlisted"), f"{name} is not in the table, and nothing says why"


def test_every_name_of_the_overlay_is_known_of_every_torch() -> None:
    tables = [OpTable.load(version) for version in shipped()]
    first = {form: set(entries) for form, entries in tables[0].curated.items()}
    assert all({form: set(entries) for form, entries in t.curated.items()} == first for t in tables)


def test_what_a_later_torch_mended() -> None:
    of = {version: OpTable.load(version) for version in shipped()}
    assert of["2.13"].outcomes("floor-division", ">>") == {"torchscript": "wrong-values"}
    assert of["2.14"].outcomes("floor-division", ">>") == {}
    assert known(of["2.13"], "torch.bitwise_right_shift").wrong == ("torchscript",)
    assert known(of["2.14"], "torch.bitwise_right_shift").wrong == ()
    assert (of["2.13"].get("torch.qr") is not None, of["2.14"].get("torch.qr")) == (True, None)


@pytest.mark.slow
def test_the_shipped_table_is_what_the_script_makes(table: OpTable) -> None:
    for package, version in table.versions.items():
        installed = metadata.version(package).split("+")[0]
        if installed != version:
            pytest.skip(f"the table was made with {package} {version}, and {installed} is installed")
    script = ROOT / ".ci" / "generate_ops.py"
    made = subprocess.run([sys.executable, "-W", "ignore", script, "--check"], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


@pytest.mark.parametrize("opset", [7, 15, 17, 18, 23])
def test_what_dynamo_translates_it_translates_before_it_converts_to_an_older_opset(table: OpTable, opset: int) -> None:
    assert known(table, "torch.arange").lowers("dynamo", opset) is True
    assert known(table, "torch.median").lowers("dynamo", opset) is False
    assert known(table, "torch.arange").lowers("torchscript", opset) is (opset >= 9)
