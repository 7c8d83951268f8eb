"""No export meets these, so no observation: wrappers that train, runners of exports, draws for training, devices."""

from __future__ import annotations

import textwrap

import pytest
from analysing import PRELUDE, facts_of, findings_of, running, told

from onnxlint.flow.exports.never_exported import inference_of
from onnxlint.flow.state.observations import Branch

HEAD = """\
class M(nn.Module):
    def __init__(self, net=None, p=0.5):
        super().__init__()
        self.p = p
        self.net = nn.Linear(4, 4)
        self.backend = net
"""
DRAW = "noise = torch.rand(x.shape[0], 1)\n"


def model(body: str, parameters: str = "x", more: str = "") -> str:
    """A model whose forward has these parameters and this body, after other methods."""
    return (
        HEAD
        + textwrap.indent(textwrap.dedent(more), "    ")
        + f"    def forward(self, {parameters}):\n"
        + textwrap.indent(textwrap.dedent(body).strip(), " " * 8)
        + "\n"
    )


def kinds(source: str) -> list[str]:
    """The kinds of the observations of a source."""
    return [text.split()[0].strip(":") for text in told(source)]


WRAPPERS = {
    "a loss": model(DRAW + "return F.mse_loss(self.net(x * noise), x)"),
    "a loss by its name": model(DRAW + "recon_loss = (self.net(x) * noise).mean()\nreturn recon_loss / 2"),
    "losses by what they compare": model(
        DRAW + "loss_itc = (self.net(x) * noise).mean()\nloss_itm = loss_itc / 2\nreturn loss_itc, loss_itm"
    ),
    "a loss with what it was made of": model(DRAW + "loss = self.net(x * noise).mean()\nreturn loss, (x, noise)"),
    "a dict of losses": model(DRAW + 'loss = self.net(x * noise).mean()\nreturn {\n    "loss": loss, "x": x,\n}'),
    "a record of a loss alone": model(DRAW + "loss = self.net(x * noise).mean()\nreturn Output(\n    loss=loss,\n)"),
    "a dict that is filled with losses": model(
        DRAW + 'out = {}\nout["loss"] = self.net(x * noise).mean()\nout["kl_loss"] = x.mean()\nreturn out'
    ),
    "a dict that is made of losses": model(
        DRAW + 'loss = self.net(x * noise).mean()\nout = {"loss": loss, "count": 2}\nif not self.training:\n'
        '    out["rows"] = self.net(x)\nreturn out'
    ),
    "what it reads from files": model(DRAW + "return self.net(x * noise)", "x, save_path=None"),
    "a loss among statistics": model(
        DRAW + 'loss = self.net(x * noise).mean()\nreturn {\n    "count": 2,\n    "rate": noise,\n    "loss": loss,\n}'
    ),
    "a loss, or an embedding where a flag asks for it": model(
        "if embed:\n    return self.net(x)\n" + DRAW + "return F.mse_loss(self.net(x * noise), x)", "x, embed=False"
    ),
    "a weighted sum of losses": model(
        "return sum([w * self.compare(y, x) for w, y in zip(self.weights, x)])",
        more="def compare(self, y, x):\n    loss = (self.net(y) * torch.rand(1)).mean()\n    return loss\n",
    ),
    "predictions beside targets": model(
        DRAW + 'y = self.net(x * noise)\nreturn {"preds": y, "target": targets}', "x, targets"
    ),
    "a record with targets": model(
        DRAW + "return Result(\n    scores=self.net(x * noise), row_targets=x)", "x, target"
    ),
    "what an annotation of the data begins": model(
        DRAW + "mask = data['first_gt'].float()\nreturn self.net(x * noise) + mask", "x, data"
    ),
    "scores that a label moves": model(DRAW + "x[noise, label] = self.net(noise)\nreturn x * noise", "x, label"),
    "scores with a margin": model(
        DRAW + "x.scatter_(1, labels.view(-1, 1), 1)\nreturn self.net(x * noise)", "x, labels"
    ),
    "what one of many runtimes gives": model(
        DRAW
        + "if self.xml:  # OpenVINO\n    return self.run(x)\nelif self.plan:  # TensorRT\n    return self.plan(x)\n"
        "elif self.package:  # CoreML\n    return self.predict(x)\nelif self.graph:  # TensorFlow or TFLite\n"
        "    return self.graph(x)\nreturn self.net(x * noise)"
    ),
    "a loss of another method": model(
        "return self.rollout(x)", more="def rollout(self, x):\n    noise = torch.rand(2)\n    return x.mean_loss()\n"
    ),
}


@pytest.mark.parametrize("source", WRAPPERS.values(), ids=WRAPPERS.keys())
def test_nothing_in_a_forward_that_gives(source: str) -> None:
    assert told(source) == []


@pytest.mark.parametrize(
    ("name", "runs"), [("BoxMatcher", False), ("BoxMatcherV2", False), ("MSSSIM", False), ("Matchery", True)]
)
def test_what_a_loss_is_made_of_is_seen_by_its_name(name: str, runs: bool) -> None:
    assert bool(told(model(DRAW + "return self.net(x * noise)").replace("class M", f"class {name}"))) is runs


@pytest.mark.parametrize("name", ["view_dir", "dirs", "drop_path", "path", "spatial_path", "shortest_paths"])
def test_what_only_sounds_like_a_file_is_an_input(name: str) -> None:
    assert "RandomDraw" in kinds(model(DRAW + "return self.net(x * noise)", f"x, {name}=None"))


def test_a_model_that_gives_back_targets_which_it_need_not_have_is_exported() -> None:
    source = model(DRAW + 'return {"preds": self.net(x * noise), "target": targets}', "x, targets=None")
    assert "RandomDraw" in kinds(source)


IMAGES = """
import torchvision.models.resnet
from torchvision.transforms.functional import normalize
class M({base}):
    def forward(self, x):
        x = normalize(x, [0.5], [0.5])
        return x * torch.rand(x.shape[0], 1, 1, 1)
"""


def test_a_transform_of_images_is_not_exported_but_a_model_of_a_library_that_begins_with_one_is() -> None:
    assert told(IMAGES.format(base="nn.Module")) == []
    assert "RandomDraw torch: torch.rand(x.shape[0], 1, 1, 1)" in told(
        IMAGES.format(base="torchvision.models.resnet.ResNet")
    )


def test_clusters_are_looked_for_behind_the_model_also_by_objects_that_a_module_holds() -> None:
    cluster = """
from sklearn.cluster import HDBSCAN
class Spectral:
    pass
class Backend(nn.Module):
    def __init__(self):
        super().__init__()
        self.spectral = {holds}()
    def forward(self, x):
        return x * torch.rand(x.shape[0])
"""
    assert told(cluster.format(holds="Spectral")) == []
    assert told(cluster.format(holds="nn.ReLU"))


MODELS = {
    "a result beside a loss": model(DRAW + "loss = (x * noise).mean()\nreturn x * noise, loss"),
    "a loss only where labels come": model(
        DRAW + "if labels is not None:\n    return F.mse_loss(x * noise, labels)\nreturn x * noise", "x, labels=None"
    ),
    "an embedding where a flag is on": model(
        "noise = torch.rand(2)\nif embed:\n    return self.net(x * noise)\nreturn F.mse_loss(x, x)", "x, embed=True"
    ),
    "a dict that is filled with a loss and a result": model(
        DRAW + 'out = {}\nout["loss"] = noise.mean()\nout["boxes"] = x * noise\nreturn out'
    ),
    "a record of a loss and outputs": model(DRAW + "loss = noise.mean()\nreturn Output(loss=loss, logits=x * noise)"),
    "a loss among outputs": model(DRAW + 'return {"logits": x * noise, "loss": noise.mean()}'),
    "what it has for training besides": model(
        DRAW + "if self.training:\n    x = data['first_gt']\nreturn x * noise", "x, data"
    ),
    "what a label asks for": model(DRAW + "return x[label] * noise", "x, label"),
    "scores that a label moves if one comes": model(
        DRAW + "if label is not None:\n    x[:, label] = 0\nreturn x * noise", "x, label=None"
    ),
    "something lossless": model(DRAW + "lossless = x * noise\nreturn lossless"),
}


@pytest.mark.parametrize("source", MODELS.values(), ids=MODELS.keys())
def test_a_forward_is_exported_that_gives(source: str) -> None:
    assert kinds(source) == ["RandomDraw"]


def test_an_augmentation_that_only_a_training_wrapper_uses_is_never_exported() -> None:
    augment = "class Augment(nn.Module):\n    def forward(self, x):\n        return x + torch.rand(1)\n\n\n"
    wrapper = model("return F.mse_loss(self.net(Augment()(x)), x)")
    assert told(augment + wrapper) == []
    assert kinds(augment + wrapper + "\n\naugment = Augment()\n") == ["RandomDraw"]


@pytest.mark.parametrize(("given", "exported"), [("y, kl_loss", False), ("y, y.mean()", True)])
def test_a_part_that_gives_a_loss_beside_is_not_exported_where_only_a_training_wrapper_uses_it(
    given: str, exported: bool
) -> None:
    part = "class Sampler(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    part += "        self.net = nn.Linear(4, 4)\n"
    part += "    def forward(self, x):\n        y = self.net(x) + torch.rand(1)\n        kl_loss = y.square().mean()\n"
    wrapper = model("return F.mse_loss(self.net(Sampler()(x)[0]), x)")
    assert bool(told(f"{part}        return {given}\n\n\n{wrapper}")) is exported


TRAINED = {
    "and": "p = np.random.uniform(0, 1)\nskip = self.training and (p < self.p)\nreturn x if skip else self.net(x)",
    "if": "p = torch.rand([])\nif self.training and p < self.p:\n    return x\nreturn self.net(x)",
    "a ternary": "p = random.random()\nreturn x * (p if self.training else 1.0)",
}


def test_nothing_in_what_makes_features_of_recordings() -> None:
    features = """\
import torch
import torchaudio.compliance.kaldi as kaldi
class Features(torch.nn.Module):
    def forward(self, x):
        return {}(x) + torch.rand(2)
"""
    assert told(features.format("kaldi.fbank")) == []
    assert told(features.replace(" as kaldi", " as Kaldi").format("Kaldi.fbank")) == []
    assert "RandomDraw" in kinds(features.format("torch.relu"))


@pytest.mark.parametrize("body", TRAINED.values(), ids=TRAINED.keys())
def test_no_draw_that_only_training_reads_by(body: str) -> None:
    assert told(model(body)) == []


@pytest.mark.parametrize(
    "body",
    [
        "p = random.random()\nif p < self.p and self.training:\n    return x\nreturn self.net(x)",
        "p = random.random()\nif self.training:\n    x = x * p\nreturn x + p",
    ],
    ids=["read before the mode is asked", "read after the branch as well"],
)
def test_a_draw_that_inference_reads(body: str) -> None:
    assert "RandomDraw" in kinds(model(body))


QUIET = {
    "a device that nobody exports on": 'if x.device.type == "mps":\n    x = x + torch.rand(1)\nreturn x',
    "one of several such devices": 'if x.device.type in ("mps", "npu"):\n    x = x + torch.rand(1)\nreturn x',
    "the rank, then the form": "if x.ndim == 3 and x.shape[0] == 4:\n    return x[1:]\nreturn x",
    "contiguous() alone": "if x.shape[0] >= 64:\n    x = x.contiguous()\nreturn self.net(x)",
}


@pytest.mark.parametrize("body", QUIET.values(), ids=QUIET.keys())
def test_no_branch_that_tells_an_export_apart_by(body: str) -> None:
    assert told(model(body)) == []


LOUD = {
    "the batch": "if x.ndim == 3 and x.shape[0] == 1:\n    return x[0]\nreturn x",
    "more than contiguous()": "if x.shape[0] >= 64:\n    x = x.contiguous() * 2\nreturn self.net(x)",
}


@pytest.mark.parametrize("body", LOUD.values(), ids=LOUD.keys())
def test_a_branch_on_a_size_by(body: str) -> None:
    assert kinds(model(body)) == ["Branch"]


def test_a_dict_by_its_annotation_is_no_tensor() -> None:
    more = "def inner(self, x, cache: dict[str, Tensor] | None = None):\n    cache = cache or {}\n    return x\n"
    assert told(model("return self.inner(x, x * 2)", more=more)) == []


def test_a_tensor_made_here_expands_to_any_number() -> None:
    body = "ids = torch.arange(4).view(1, -1).expand(3, -1)\nreturn x + ids[0]"
    assert told(model(body)) == []


def test_a_write_into_a_result_that_is_returned_is_not_lost() -> None:
    body = "y = torch.matmul(x.permute(1, 0), x)\ny = y.permute(1, 0)\ny += 1\nreturn y.type_as(x)"
    assert told(model(body)) == []


def test_nothing_in_a_function_that_computes_a_loss() -> None:
    more = "def balance_loss(self, x):\n    return x * torch.rand(1)\n"
    assert told(model("return self.net(x), self.balance_loss(x)", more=more)) == []
    assert kinds(model("return self.net(x), self.lossless(x)", more=more.replace("balance_loss", "lossless"))) == [
        "RandomDraw"
    ]


def test_a_draw_after_the_mode_is_denied_is_read_in_training_only() -> None:
    body = "p = random.random()\nif not self.training or p > self.p:\n    x = self.net(x)\nreturn x"
    assert told(model(body)) == []


NARROWED = {
    "isinstance and": "if isinstance(x, dict) and all(v.ndim == 4 for v in x.values()):\n    return x\nreturn x + 1",
    "both in an if": "if isinstance(x, list) and flag:\n    return [self.net(v) for v in x]\nreturn self.net(x)",
}


@pytest.mark.parametrize("body", NARROWED.values(), ids=NARROWED.keys())
def test_what_a_condition_says_of_a_name_holds_in_the_rest_of_it(body: str) -> None:
    assert told(model(body, "x: Tensor, flag: bool = False")) == []


def test_a_condition_says_nothing_of_what_comes_after() -> None:
    body = "if isinstance(x, dict) and flag:\n    return x\nif x.sum() > 0:\n    return x * 2\nreturn self.net(x)"
    assert kinds(model(body, "x: Tensor, flag: bool = False")) == ["Branch"]


PIECES = """\
if x.shape[0] > 64:
    return torch.cat([self.net(part) for part in x.split(64)])
else:
    return self.net(x)
"""


def test_work_that_is_split_to_save_memory_is_the_same_work() -> None:
    assert [k for k in kinds(model(PIECES)) if k == "Branch"] == []
    assert "Branch" in kinds(model(PIECES.replace("return self.net(x)", "return self.backend(x)")))


def test_a_loop_over_one_row_for_each_module_of_the_model() -> None:
    body = "for i, row in enumerate(x):\n    total = self.parts[i](row)\nreturn total"
    assert told(model(body)) == []
    assert kinds(model(body.replace("self.parts[i](row)", "self.net(row)"))) == ["Loop"]
    assert kinds(model(body.replace("self.parts[i](row)", "getattr(self, f'part{i}')(row)"))) == []
    assert kinds(model(body.replace("self.parts[i](row)", "getattr(self, 'part')(row * i)"))) == ["Loop"]
    assert kinds(model("return sum([self.parts[i](row) for i, row in enumerate(x)])")) == []
    assert kinds(model("return sum([self.net(row) for i, row in enumerate(x)])")) == ["Loop"]


def test_state_that_forward_empties_first_is_not_carried_over() -> None:
    more = "def {name}(self):\n    self.last = None\n\n"
    body = "self.{name}()\nif self.last is not None:\n    x = x + self.last\nself.last = self.net(x)\nreturn self.last"
    assert told(model(body.format(name="clear"), more=more.format(name="clear"))) == []
    assert kinds(model(body.replace("self.{name}()\n", ""))) == ["StateWrite"]


COUNTS = {
    "lengths": ("lengths // 2", []),
    "lengths less one": ("(lengths - 1) // 2", []),
    "a length between two places": ("(lengths - positions) // 2", []),
    "a difference of each with each": ("(positions[:, None] - positions[None]) // 2", ["FloorDivide"]),
}


@pytest.mark.parametrize(("quotient", "expected"), COUNTS.values(), ids=COUNTS.keys())
def test_a_quotient_of(quotient: str, expected: list[str]) -> None:
    body = f"lengths, positions = x.long(), y.long()\nreturn self.net({quotient})"
    assert kinds(model(body, "x, y")) == expected


STATE = """\
if self.last is None:
    self.last = self.net(x)
elif self.last is not None and x.sum() > 0:
    x = x + self.last.repeat_interleave(x.shape[0], dim=0)
return x
"""


def test_an_arm_for_the_state_of_an_earlier_call_is_not_that_of_a_fresh_model() -> None:
    start = model(STATE, more="def other(self):\n    return self.last\n").replace(
        "self.p = p", "self.p = p\n        self.last = None"
    )
    assert sorted(set(kinds(start))) == ["Branch", "StateWrite"]
    assert "SizeRepetition" in kinds(start.replace("self.last is not None and x.sum()", "x.sum()"))


SIZES = {
    "how many outputs there are": "outputs = self.net(x)\nif len(outputs) > 1:\n    x = x + 1\nreturn x",
    "whether there are elements": "y = x[:, 1:]\nif y.shape[1] != 0:\n    x = x + 1\nreturn x",
    "whether there are items": "n = len(x[1:])\nif n > 0:\n    x = x + 1\nreturn x",
    "rank and size": "if x.ndim == 3 and x.shape[0] == y.shape[0] + 1:\n    x = x[1:]\nreturn x + y",
    "pieces": "if x.numel() <= 64:\n    return self.net(x)\nreturn torch.cat([self.net(part) for part in x.split(64)])",
}


@pytest.mark.parametrize("body", SIZES.values(), ids=SIZES.keys())
def test_no_branch_on_a_size_that_asks_for(body: str) -> None:
    assert [k for k in kinds(model(body, "x, y")) if k == "Branch"] == []


def test_a_flag_that_holds_in_training_only() -> None:
    assert told(model("drop = self.p > 0 and self.training\nif drop:\n    x = x * torch.rand(1)\nreturn x")) == []


@pytest.mark.parametrize(
    ("number", "exporters"),
    [
        ("math.ceil(x.shape[0] / 4)", ("torchscript",)),
        ("math.floor(x.shape[0] / 4)", ("torchscript",)),
        ("int(math.ceil(x.shape[0] / 4))", ("torchscript", "dynamo")),
        ("math.ceil(math.log2(x.shape[0]))", ("torchscript", "dynamo")),
    ],
)
def test_dynamo_keeps_the_symbol_of_a_size_that_is_rounded(number: str, exporters: tuple[str, ...]) -> None:
    found = findings_of(model(f"return self.net(x[: {number}])"))
    assert {(code, hit) for code, _, hit in found} == {("ONX202", exporters)}


def test_a_size_that_one_exporter_has_as_a_tensor_is_a_size() -> None:
    size = "torch.tensor(x.shape[1]) if torch.jit.is_tracing() else x.shape[1]"
    body = f"n = {size}\npad = (4 - n % 4) % 4\npadded = pad > 0 or pad > 1\nreturn x[:, : n + padded]"
    assert "BoolOperator" not in kinds(model(body))
    assert "BoolOperator" in kinds(model(body.replace("torch.tensor(x.shape[1])", "x.sum().long()")))


CHOSEN = """\
def chosen(cls):
    inner = cls.forward
    def forward(self, x):
        return INTERFACE.get(self.p, inner)(self, x)
    cls.forward = forward
    return cls

{decorator}class M(nn.Module):
    def forward(self, x):
        if x.shape[1] > 4:
            return x + x.sum().item()
        if x.sum() > 0:
            return x * 2
        return x
"""


@pytest.mark.parametrize(
    ("decorator", "expected"),
    [("", {("Branch", True), ("Escape", False)}), ("@chosen\n", {("Branch", False), ("Escape", False)})],
    ids=["always", "by a setting"],
)
def test_what_an_export_meets_for_certain(decorator: str, expected: set[tuple[str, bool]]) -> None:
    observations = facts_of(CHOSEN.format(decorator=decorator))
    assert {(type(f).__name__, f.certain) for f in observations if "shape" not in f.text} == expected


FORMS = {
    "the shape of a mask": "if mask.shape == (x.shape[0], x.shape[1]):\n    x = x * 2\nreturn x",
    "the length of a mask": "if mask is not None and mask.shape[1] == x.shape[1]:\n    x = x * 2\nreturn x",
    "kinds of positions": "if position_ids.shape[0] == 4:\n    x = x * 2\nreturn x",
}


@pytest.mark.parametrize("body", FORMS.values(), ids=FORMS.keys())
def test_no_branch_that_tells_forms_of_an_input_apart_by(body: str) -> None:
    assert told(model(body, "x: Tensor, mask: Tensor, position_ids: Tensor")) == []


def test_what_is_not_a_list_in_a_ternary_on_it_may_be_anything() -> None:
    body = "h = x[0].shape[0] if isinstance(x, list) else int(x[0])\nreturn torch.zeros(h)"
    assert told(model(body, "x: Tensor")) == []


def test_the_values_of_a_dict_that_an_annotation_calls_a_tensor() -> None:
    assert told(model("return sum(v for v in x.values())", "x: Tensor")) == []


def test_a_literal_one_in_a_view_adds_an_axis() -> None:
    body = "return y.view(x.shape[0], 1, x.shape[1], x.shape[1]) + x"
    assert [k for k in kinds(model(body, "x: Tensor, y: Tensor")) if k == "ShapeLiteral"] == []


GUARDED = """\
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = None
        {more}
    def fill(self, x):
        if self.table is not None and x.shape[0] <= self.table.shape[0]:
            return
        self.table = torch.arange(x.shape[0])
    def forward(self, x: Tensor):
        self.fill(x)
        return x + self.table
"""


def test_a_fresh_model_asks_nothing_of_what_an_earlier_call_left() -> None:
    assert not [f for f in facts_of(GUARDED.format(more="")) if isinstance(f, Branch)]
    filled = facts_of(GUARDED.format(more="self.fill(torch.zeros(4))"))
    assert [f.reads for f in filled if isinstance(f, Branch)] == ["dim"]


PERIODS = """\
def periods(x):
    {read}
class M(nn.Module):
    def forward(self, x: Tensor):
        p = periods(x)
        if 96 % p[0] != 0:
            x = x * 2
        return x.reshape(p[0], -1)
"""


@pytest.mark.parametrize(
    ("read", "expected"),
    [("return x.topk(2).indices.cpu().numpy()", ["ONX402"]), ("return x.topk(2).indices", ["ONX101"])],
)
def test_a_condition_on_what_went_through_numpy_elsewhere_has_that_cause(read: str, expected: list[str]) -> None:
    assert sorted({code for code, *_ in findings_of(PERIODS.format(read=read))}) == expected


SPEAKING = """\
class Speaker(nn.Module):
    def __init__(self):
        super().__init__()
        self.text, self.sound = nn.Linear(4, 4), Sound()

    def forward(self, x, y):
        return self.text(x) + self.sound(y) + torch.rand(x.shape[0], 1)

    def {name}(self, x, {more}scale=1.0):
        if x.max() > 1:
            x = x * scale
        return self.text(x)

class Sound(nn.Module):
    def forward(self, y):
        return y + torch.rand(y.shape[0], 1)

def speak(model, text):
    return model.{called}(text)
"""


@pytest.mark.parametrize(
    ("name", "called", "more", "hit"),
    [
        ("infer", "infer", "", ["ONX101"]),
        ("recognize", "recognize", "", ["ONX101"]),
        ("inference", "inference", "z, ", ["ONX305", "ONX305"]),
        ("other", "other", "", ["ONX305", "ONX305"]),
        ("infer", "forward", "", ["ONX305", "ONX305"]),
    ],
)
def test_a_method_in_use_that_infers_without_the_targets_is_what_is_exported(
    name: str, called: str, more: str, hit: list[str]
) -> None:
    found = findings_of(SPEAKING.format(name=name, called=called, more=more))
    assert sorted(code for code, _, _ in found) == hit


@pytest.mark.parametrize(("parameter", "hit"), [("targets=None", ["ONX101"]), ("y=None", ["ONX305", "ONX305"])])
def test_targets_that_may_be_left_out_are_those_of_training(parameter: str, hit: list[str]) -> None:
    source = SPEAKING.format(name="infer", called="infer", more="")
    source = source.replace("forward(self, x, y)", f"forward(self, x, {parameter})").replace("sound(y)", "sound(x)")
    assert sorted(code for code, _, _ in findings_of(source)) == hit


@pytest.mark.parametrize(
    ("forward", "inference", "hit"),
    [
        ("x, n, y, y_lengths", "x, n, start", ["ONX101"]),
        ("x, n, z, other", "x, n, start", ["ONX305", "ONX305"]),
        ("x, n, y, y_lengths", "x, n, y, start, more", ["ONX305", "ONX305"]),
        ("x, n, y, y_lengths", "x, start, more", ["ONX305", "ONX305"]),
    ],
    ids=["no target", "no target there either", "as many", "mostly others"],
)
def test_a_method_that_spares_the_targets_may_have_names_of_its_own(
    forward: str, inference: str, hit: list[str]
) -> None:
    source = SPEAKING.format(name="infer", called="infer", more="")
    source = source.replace("forward(self, x, y)", f"forward(self, {forward})").replace(
        "self.sound(y)", "self.sound(x)"
    )
    source = source.replace("infer(self, x, scale=1.0)", f"infer(self, {inference}, scale=1.0)")
    assert sorted(code for code, _, _ in findings_of(source)) == hit


BATCHES = """\
class Speaker(nn.Module):
    def __init__(self):
        super().__init__()
        self.text, self.decoder = nn.Linear(4, 4), Decoder()

    def forward(self, batch):
        texts, lengths, \\
            sounds = batch
        return self.decoder(self.text(texts), sounds, lengths) + torch.rand(lengths.shape[0], 1)

    def inference(self, batch):
        {first}
        return self.decoder.inference(self.text(texts))

class Decoder(nn.Module):
    def forward(self, memory, sounds, lengths):
        self.mask = lengths > 2
        return self.step(memory + sounds)

    def inference(self, memory):
        self.mask = None
        return self.step(memory)

    def step(self, x):
        if self.mask is not None:
            x = x * self.mask.sum().item()
        if x.max() > 1:
            x = x * 2
        return x

def speak(model, text):
    return model.inference(text)
"""


@pytest.mark.parametrize(
    ("first", "hit"),
    [
        ("texts = batch", [("ONX101", 27)]),
        ("texts, sounds, lengths = batch", [("ONX101", 27), ("ONX305", 9), ("ONX401", 26)]),
    ],
)
def test_a_method_that_infers_from_one_tensor_does_without_the_targets_in_the_batch_of_forward(
    first: str, hit: list[tuple[str, int]]
) -> None:
    assert sorted((code, line) for code, line, _ in findings_of(BATCHES.format(first=first))) == hit


@pytest.mark.parametrize(
    ("call", "more", "inference"),
    [
        ("self.infer(x) + y", "def infer(self, x):\n    return x\n", False),
        ("self.net(x) + y", "def infer(self, x):\n    return x\n", True),
        ("self.net(x) + y", "def infer(self, x):\n    return ''.join(self.words[i] for i in x)\n", False),
        ("self.net(x) + y", "def infer(self, x) -> str:\n    return x.text\n", False),
    ],
)
def test_a_method_that_asks_for_less_than_forward_is_its_inference_unless_another_calls_it_or_it_gives_text(
    call: str, more: str, inference: bool
) -> None:
    _, info = running(PRELUDE + model(f"return {call}", "x, y", more=more))
    unit = inference_of(info.classes["M"], ("infer",))
    assert (unit is not None and unit.name == "infer") is inference


@pytest.mark.parametrize(
    ("asked", "call", "inference"),
    [
        ("count", "self.forward(x, count)", False),
        ("count", "self.net(x)", True),
        ("y", "self.forward(x, y=None)", True),
    ],
)
def test_a_method_that_makes_up_what_forward_asks_for_and_calls_it_is_no_inference_of_its_own(
    asked: str, call: str, inference: bool
) -> None:
    more = f"def infer(self, x, count=None):\n    count = count or 3\n    return {call}\n"
    _, info = running(PRELUDE + model(f"return self.net(x) + {asked}", f"x, {asked}", more=more))
    assert (inference_of(info.classes["M"], ("infer",)) is not None) is inference


EITHER = """\
class Speaker(nn.Module):
    def forward(self, x, y):
        return x + torch.rand_like(y)

    def infer(self, x):
        return -x if x.max() > 0 else x

class Louder(Speaker):
    def forward(self, x, y):
        return x + torch.rand_like(y) * 2

def load(version, model=None):
    for name in ("first", "second"):
        made = Louder() if version == name else Speaker()
    return made

def speak(model, text):
    return model.infer(text)

def export(version):
    model = load(version)
    def forward(x):
        return model.infer(x)
    model.forward = forward
    torch.onnx.export(model, torch.ones(1, 4), "m.onnx", dynamo=False)
"""


def test_the_forward_of_a_class_that_an_export_may_be_given_as_well_is_left_for_its_inference() -> None:
    assert "ONX305" not in {code for code, _, _ in findings_of(EITHER)}
