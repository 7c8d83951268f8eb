"""What is asked of sizes: what an export may leave alone, and the neighbours that it freezes."""

from __future__ import annotations

import textwrap

import pytest
from analysing import findings_of

HEAD = """\
BIG = 2 * 10**9
class M(nn.Conv1d):
    def forward(self, x: Tensor, y: Tensor = None, mask: Tensor = None, k: int = 2):
"""


def codes(body: str) -> list[str]:
    """The rules that object to a forward of this body."""
    return sorted(code for code, _, _ in findings_of(HEAD + textwrap.indent(textwrap.dedent(body).strip(), " " * 8)))


def arms(test: str, before: str = "n = x.shape[0]") -> str:
    """A body that branches on sizes."""
    return f"{before}\nif {test}:\n    return x + 1\nreturn x"


EMPTY = {
    "a product with a setting": ("n * k != 0", "n = x.shape[0]"),
    "a sum of sizes": ("0 < n", "n = x.shape[0] + x.shape[0]"),
    "the lesser of a size and a share that is rounded up": (
        "n > 0",
        "n = min(k * math.ceil(math.log1p(int(x.shape[0]))), x.shape[0])",
    ),
}
LEFT = {
    "what a division leaves": ("n > 0", "n = x.shape[0] // 4"),
    "a difference": ("n > 0", "n = x.shape[0] - 4"),
    "a remainder": ("n == 0", "n = (4 - x.shape[0] % 4) % 4 + x.shape[0] * 0"),
    "the lesser of a size and a difference": ("n > 0", "n = min(x.shape[0] - 1, x.shape[0])"),
    "a share that is rounded down": ("n > 0", "n = int(x.shape[0] * 0.3)"),
    "a logarithm, which is zero of one": ("n > 0", "n = math.ceil(math.log(x.shape[0]))"),
    "a size with an offset": ("n > 0", "n = x.shape[0] + k"),
    "what a slice leaves": ("n > 0", "n = x[4:].shape[0]"),
    "the negative of a size": ("n == 0", "n = -x.shape[0] * 2"),
    "a size of more than one": ("n > 1", "n = x.shape[0]"),
}


@pytest.mark.parametrize(("test", "before"), EMPTY.values(), ids=EMPTY.keys())
def test_no_branch_that_asks_for_an_empty_axis_by(test: str, before: str) -> None:
    assert "ONX106" not in codes(arms(test, before))


@pytest.mark.parametrize(("test", "before"), LEFT.values(), ids=LEFT.keys())
def test_a_branch_on(test: str, before: str) -> None:
    assert set(codes(arms(test, before))) & {"ONX106", "ONX115"}


PIECES = """
x = x.reshape(x.shape[0], 4, -1)
{amount}
if {test}:
    parts = torch.chunk(x, math.ceil(amount / 2), dim=-1)
    return torch.cat([super(M, self).forward(p) for p in parts], dim=-1)
else:
    if y is None:
        return super(M, self).forward(x)
    return super(M, self).forward(y)
"""
EARLY = """
x = x.reshape(x.shape[0], 4, -1)
if x.numel() <= {limit}:
    return super(M, self).forward(x)
parts = torch.chunk(x, math.ceil(x.numel() / {limit}), dim=-1)
return torch.cat([super(M, self).forward(p) for p in parts], dim=-1)
"""
TOO_LARGE = {
    "gigabytes": PIECES.format(amount="amount = x.numel() * x.element_size() / 10**9", test="amount > 3"),
    "a product of sizes": PIECES.format(
        amount="amount = x.shape[0] * x.shape[1] * x.shape[2] * x.shape[3] * 2 / 1024**3", test="amount >= 2"
    ),
    "a constant of the module": EARLY.format(limit="BIG"),
}
GIGABYTES = "amount = x.numel() / 10**9"
IN_REACH = {
    "a limit that an example may pass": EARLY.format(limit="1000"),
    "a limit that is a setting": EARLY.format(limit="k"),
    "megabytes": PIECES.format(amount="amount = x.numel() / 10**6", test="amount > 3"),
    "pieces of something else": PIECES.format(amount=GIGABYTES, test="amount > 3").replace(
        "super(M, self).forward(p)", "p * 2"
    ),
    "one axis": PIECES.format(amount="amount = x.shape[0] / 10**9", test="amount > 3"),
}


@pytest.mark.parametrize("body", TOO_LARGE.values(), ids=TOO_LARGE.keys())
def test_what_only_a_tensor_too_large_for_one_go_takes_is_left_alone_by(body: str) -> None:
    assert codes(body) == []


@pytest.mark.parametrize("body", IN_REACH.values(), ids=IN_REACH.keys())
def test_pieces_are_told_of_with(body: str) -> None:
    assert "ONX202" in codes(body)


def test_what_reads_data_before_the_pieces_is_told_of() -> None:
    assert codes("if x.sum() > 0:\n    return -x\n" + EARLY.format(limit="BIG").strip()) == ["ONX101"]


CALLED_TWICE = """\
def chosen(x):
    if x.sum() > 0:
        return -x
    return x
class M(nn.Module):
    def forward(self, x: Tensor):
        x = x.reshape(x.shape[0], 4, -1)
        if x.numel() > 2 * 10**9:
            return torch.cat([chosen(x) for _ in range(2)], dim=-1)
        else:
            return chosen(x)
"""


def test_a_function_that_the_pieces_call_first_is_still_looked_at() -> None:
    assert [(code, line) for code, line, _ in findings_of(CALLED_TWICE)] == [("ONX101", 2)]


FORMS = {
    "rows of a mask for each head": ("mask.shape[0] < n * k", "mask = mask.repeat_interleave(k, dim=0)"),
}
SIZES = {
    "the length of a mask": ("mask.shape[0] < n", "mask = mask.repeat_interleave(k, dim=0)"),
    "a mask and twice a length": ("mask.shape[0] < n * 2", "mask = mask.repeat_interleave(k, dim=0)"),
    "rows of what is no mask": ("x.shape[0] < n * k", "x = x.repeat_interleave(k, dim=0)"),
}


@pytest.mark.parametrize(("test", "arm"), FORMS.values(), ids=FORMS.keys())
def test_no_branch_that_tells_forms_apart_by(test: str, arm: str) -> None:
    assert codes(f"n = y.shape[1]\nif {test}:\n    {arm}\nreturn x + mask") == []


@pytest.mark.parametrize(("test", "arm"), SIZES.values(), ids=SIZES.keys())
def test_a_branch_on_sizes_that_tells_no_forms_apart_by(test: str, arm: str) -> None:
    assert set(codes(f"n = y.shape[1]\nif {test}:\n    {arm}\nreturn x + mask")) & {"ONX106", "ONX114"}


GIVEN_BACK = {
    "what is squeezed": ("return x.squeeze()", False),
    "it by its name": ("x = torch.squeeze(x)\nreturn x", False),
    "it, maybe": ("if k:\n    x = torch.squeeze(x)\nreturn x", False),
    "it in a tuple": ("return y, x.squeeze()", False),
    "it, scaled": ("x = torch.squeeze(x) / 2\nreturn {'scores': 1 - x.sigmoid()}", False),
    "a product with it": ("return x.squeeze() @ y", True),
    "what is made of it": ("x = torch.squeeze(x)\nreturn x.sum(1)", True),
    "it, and its sum": ("x = torch.squeeze(x)\ny = x.sum(1)\nreturn x", True),
    "a sum of it": ("return x.squeeze().sum(1)", True),
}


@pytest.mark.parametrize(("body", "told"), GIVEN_BACK.values(), ids=GIVEN_BACK.keys())
def test_a_squeeze_of_all_axes_where_the_function_gives(body: str, told: bool) -> None:
    assert ("ONX205" in codes(body)) == told


def test_a_squeeze_that_a_helper_gives_back_is_read_by_its_caller() -> None:
    """Lengths that a method squeezes so, as in SeamlessM4T, are no output of the model."""
    helper = "\n\n    def lengths(self, x):\n        return x.sum(1).squeeze()\n"
    found = findings_of(HEAD + "        return y[:, : self.lengths(x).max()]" + helper)
    assert "ONX205" in {code for code, _, _ in found}


def test_a_squeeze_of_the_one_element_that_item_takes() -> None:
    assert "ONX205" not in codes("n = x.argmax(-1).squeeze().item()\nreturn x * n")
    assert "ONX205" in codes("n = x.argmax(-1).squeeze().sum().item()\nreturn x * n")


LISTS = {
    "a list or a tensor": ("{loop}", False),
    "a list, in the arm for lists": ("if isinstance(x, list):\n    {loop}\nreturn y", False),
    "a tensor, in the arm for tensors": ("if isinstance(x, list):\n    return y\nelse:\n    {loop}\nreturn y", True),
    "a tensor, where another is asked for": ("{loop}\nh = 1 if isinstance(y, list) else 2", True),
}


@pytest.mark.parametrize(("body", "told"), LISTS.values(), ids=LISTS.keys())
def test_a_loop_over_the_length_of(body: str, told: bool) -> None:
    loop = "y = [x[i] * 2 for i in range(len(x))]"
    asked = "" if told else "h = x[0] if isinstance(x, list) else 2\n"
    assert ("ONX107" in codes(asked + body.format(loop=loop) + "\nreturn y")) == told


INDICES = {
    "the indices of a sort": ("_, index = x.flatten(0).sort(0)", False),
    "the indices of a sort, by argsort": ("index = torch.argsort(x.reshape(-1))", False),
    "the indices of a sort, kept in an object": ("index = (x.reshape(-1).sort()[1], k)[0]", False),
    "what a division leaves of them": ("index = torch.argsort(x.reshape(-1)).div(k, rounding_mode='trunc')", True),
    "what others choose of them": ("index = torch.argsort(x.reshape(-1))[y.long()]", True),
    "them twice": ("index = torch.argsort(x.reshape(-1)).repeat(2)", True),
    "them or others": ("index = torch.argsort(x.reshape(-1))\nif k > 2:\n    index = y.long()", True),
    "those of a sort of each row": ("index = torch.argsort(x.reshape(-1, 4), dim=-1).flatten()", True),
    "the values of a sort": ("index, _ = x.reshape(-1).long().sort()", True),
}


@pytest.mark.parametrize(("index", "told"), INDICES.values(), ids=INDICES.keys())
def test_a_sum_at(index: str, told: bool) -> None:
    body = f"x = x.reshape(x.shape[0], 4)\n{index}\nreturn torch.zeros(8).index_add(0, index, x.reshape(-1))"
    assert ("ONX405" in codes(body)) == told


BOTH = ("torchscript", "dynamo")
SIZED = {
    "one size": ("torch.tensor(n)", ()),
    "one size, with a dtype": ("torch.tensor(n, dtype=torch.float32)", ()),
    "arithmetic on a size": ("torch.tensor(n / 2 + 1)", ()),
    "a size as it is read": ("x.new_tensor(x.size(1))", ()),
    "a size as scalar": ("torch.scalar_tensor(n)", ()),
    "one size, which dynamo refuses": ("torch.as_tensor(n)", ("dynamo",)),
    "one size, of another function which dynamo refuses": ("torch.asarray(n)", ("dynamo",)),
    "a list of one size": ("torch.tensor([n])", ("torchscript",)),
    "a list of lists with a size": ("x.new_tensor([[n, 2]])", ("torchscript",)),
    "a tuple with a size": ("torch.tensor((n, 2)).sum()", ("torchscript",)),
    "all sizes": ("torch.tensor(x.shape).sum()", ("torchscript",)),
    "a list with a size, which dynamo refuses": ("torch.as_tensor([n, 2]).sum()", BOTH),
    "a list with a size, of a typed constructor": ("torch.LongTensor([n])", BOTH),
    "a list as long as the size": ("torch.tensor([1] * n)", BOTH),
    "a list as long as one size, of another": ("torch.tensor([x.shape[0]] * n)", BOTH),
    "a range": ("torch.tensor(list(range(n)))", BOTH),
    "a size, by a legacy constructor": ("torch.LongTensor(n).fill_(0)", ("torchscript",)),
    "sizes, by a legacy constructor": ("torch.FloatTensor(n, 1).zero_()", ("torchscript",)),
    "sizes, by the constructor of the class": ("torch.Tensor(1, n).zero_().sum()", ("torchscript",)),
    "sizes, by the method of a tensor": ("x.new(n, 1).zero_()", ("torchscript",)),
    "a shape, by a legacy constructor": ("torch.FloatTensor(x.size()).zero_()", ("torchscript",)),
    "numbers, by a legacy constructor": ("torch.FloatTensor(3, k).zero_().sum()", ()),
}


@pytest.mark.parametrize(("made", "hit"), SIZED.values(), ids=SIZED.keys())
def test_a_tensor_of(made: str, hit: tuple[str, ...]) -> None:
    found = findings_of(HEAD + f"        n = x.shape[0]\n        return x + {made}\n")
    assert [(code, exporters) for code, _, exporters in found] == ([("ONX203", hit)] if hit else [])


UNFLATTENED = {
    "nothing": ("h", True),
    "what keeps the shape": ("F.silu(h).contiguous() * 2", True),
    "a permutation": ("h.permute(0, 2, 1, 3)", True),
    "a cut": ("h[:, :, 1:]", True),
    "a repetition that is put in front": ("torch.cat([h[:, :, :1].repeat(1, 1, 2, 1), h], dim=2)", True),
    "a convolution": ("self.conv(h)", True),
    "a convolution that pads in a circle": ("self.circular(h)", True),
    "a circular padding": ("F.pad(h, (1, 1, 1, 1), mode='circular')", True),
    "arithmetic with a weight": ("h * self.weight.sum()", True),
    "arithmetic with itself": ("h + F.relu(h)", True),
    "arithmetic with one number of the input": ("h * x.sum()", True),
    "the greater of it and the input": ("torch.maximum(h, x)", True),
    "a padding": ("F.pad(h, (1, 1, 1, 1))", False),
    "a padding by a setting": ("F.pad(h, (k, k, 0, 0), mode=self.mode)", False),
    "a module that pads": ("nn.ReplicationPad2d(1)(h)", False),
    "a convolution that pads by itself": ("self.replicate(h)", False),
    "a padding and more": ("self.conv(F.relu(F.pad(h, (1, 1, 2, 0), mode='replicate'))).permute(0, 2, 1, 3)", False),
    "a padded branch beside it": ("h + self.conv(F.pad(h, (1, 1, 1, 1)))", False),
    "arithmetic with the input": ("h * x", False),
    "arithmetic with another input": ("h * y", False),
    "a function of arithmetic with the input": ("torch.add(h, F.relu(x))", False),
    "arithmetic with the last columns of the input": ("h - x[..., -1:]", False),
    "a product with the input": ("h @ x.transpose(-1, -2)", False),
}
CUT = """\
class M(nn.Module):
    def __init__(self, mode="constant"):
        super().__init__()
        self.mode = mode
        self.conv = nn.Conv2d(4, 4, 3)
        self.circular = nn.Conv2d(4, 4, 3, padding=1, padding_mode="circular")
        self.replicate = nn.Conv2d(4, 4, 3, padding=1, padding_mode="replicate")
        self.weight = nn.Parameter(torch.ones(4))
    def forward(self, x: Tensor, y: Tensor, k: int = 2):
        batch, channels, height, width = x.shape
        x = x.view(batch, 4, height, width)
        h = x.flatten(2).unflatten(2, (-1, 4))
        h = {after}
        return torch.ones(h.shape[0], 3)
"""


@pytest.mark.parametrize(("after", "told"), UNFLATTENED.values(), ids=UNFLATTENED.keys())
def test_a_size_that_is_read_after_unflatten_and(after: str, told: bool) -> None:
    found = {code for code, _, _ in findings_of(CUT.format(after=after))}
    assert found == ({"ONX212"} if told else set())


def test_what_is_added_in_place_leaves_the_sizes_after_unflatten_as_they_are() -> None:
    for statement in ("h += x", "h.add_(x)"):
        found = {code for code, _, _ in findings_of(CUT.replace("h = {after}", statement))}
        assert "ONX212" in found


def test_sizes_after_an_unflatten_that_one_arm_alone_has() -> None:
    source = """
class M(nn.Module):
    def each(self, x):
        batch, frames = x.shape[:2]
        return self.one(x.flatten(0, 1)).unflatten(0, (batch, frames))
    def one(self, x):
        return F.relu(x)
    def forward(self, x: Tensor):
        h = self.each(x) if x.ndim == 5 else self.one(x)
        if h.ndim == 5:
            batch, frames = h.shape[:2]
            h = F.relu(h.flatten(0, 1)).unflatten(0, (batch, frames))
        return h
"""
    assert findings_of(source) == {("ONX212", 11, ("torchscript",))}


@pytest.mark.parametrize("asked", ["(x.shape[1] / 4).is_integer()", "x.shape[1].bit_length() > 3"])
def test_a_method_of_a_number_that_is_asked_of_a_size(asked: str) -> None:
    assert codes(f"if {asked}:\n    return x + 1\nreturn x") == ["ONX202"]


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("int(np.ceil(np.log(h)).astype('int'))", ["torchscript"]),
        ("3 if (h / 4).is_integer() else 2", ["torchscript"]),
        ("int(np.ceil(np.log(h)))", []),
        ("int(h * 0.5)", []),
    ],
)
def test_what_torchscript_refuses_of_a_size_that_may_be_static_too(asked: str, shown: list[str]) -> None:
    source = f"""
        class M(nn.Module):
            def forward(self, x: Tensor):
                b, c, h, w = x.shape
                first = x[: len(x)]
                n = {asked}
                return x[:, :, :n] * first
    """
    shown_here = [exporters for code, line, exporters in findings_of(source) if (code, line) == ("ONX202", 6)]
    assert shown_here == [tuple(shown)] * len(shown)


@pytest.mark.parametrize(
    "asked", ["(k / 4).is_integer()", "float(k).is_integer()", "(len(self.weight) / 2).is_integer()"]
)
def test_a_method_of_a_number_that_is_asked_of_a_number(asked: str) -> None:
    assert codes(f"if {asked}:\n    return x + 1\nreturn x") == []


@pytest.mark.parametrize(
    "asked",
    [
        "isinstance(x.shape[1], int)",
        "isinstance(x.shape[1] // 2, (int, float))",
        "isinstance(x.size(0), (int, torch.SymInt))",
    ],
)
def test_a_size_that_is_asked_for_its_type(asked: str) -> None:
    assert "ONX117" in codes(f"if {asked}:\n    x = x * 2\nreturn x")


@pytest.mark.parametrize(
    "asked",
    [
        "isinstance(k, int)",
        "isinstance(x.dim(), int)",
        "isinstance(int(x.shape[0]), int)",
        "isinstance(x.shape[0], (int, torch.SymInt, torch.Tensor))",
        "isinstance(x.shape[0], (tuple, list))",
        "isinstance(x, torch.Tensor)",
        "not torch.jit.is_tracing() and not torch.compiler.is_exporting() and isinstance(x.shape[0], int)",
    ],
)
def test_what_is_asked_for_its_type_and_may_be(asked: str) -> None:
    assert "ONX117" not in codes(f"if {asked}:\n    x = x * 2\nreturn x")


MADE = """
sizes = torch.as_tensor([[v.shape[2], v.shape[3]] for v in (x, y)])
total = sizes.prod(1).sum()
"""


@pytest.mark.parametrize(
    ("use", "code"),
    [
        ("for h, w in sizes:\n    x = x / h\nreturn x", "ONX104"),
        ("for i, (h, w) in enumerate(sizes):\n    x = x / h\nreturn x", "ONX104"),
        ("assert total == k\nreturn x", "ONX103"),
        ("return x.flatten(2)[:, :, : int(total)]", "ONX401"),
    ],
)
def test_a_tensor_made_of_sizes_holds_sizes(use: str, code: str) -> None:
    assert code in codes(MADE + use)


@pytest.mark.parametrize(
    ("check", "told"),
    [
        ("assert y.shape[0] == k, 'so many'", False),
        ("assert y.shape[0] == k, f'not {y.shape}'", True),
        ("assert k < y.shape[0] < 9", True),
        ("if y.shape[0] != k:\n    raise ValueError", True),
        ("assert y.sum() == k", False),
        ("assert not y.sum() == k", True),
        ("assert (y > k).all(), 'too small'", False),
        ("assert (y > k).all(), y", True),
        ("assert (y > k).any(0)[0]", True),
    ],
)
def test_what_is_asked_once_of_data_or_of_a_size_that_depends_on_it_is_asserted_in_the_file_too(
    check: str, told: bool
) -> None:
    assert ("ONX103" in codes(f"y = x[x > 0]\n{check}\nreturn y")) is told


def test_a_tensor_made_of_numbers_holds_numbers() -> None:
    made = MADE.replace("v.shape[2], v.shape[3]", "k, 2")
    for use in ("for h, w in sizes:\n    x = x / h\nreturn x", "return x.flatten(2)[:, :, : int(total)]"):
        assert codes(made + use) == []


def test_arithmetic_alone_on_a_tensor_made_of_sizes_has_one_cause() -> None:
    assert codes(MADE + "return x / total") == codes(MADE + "return x / sizes[0, 0]")


@pytest.mark.parametrize(
    "body",
    [
        "return F.grid_sample(x, y.unsqueeze(-2)).permute(0, 2, 3, 1).squeeze(-2)",
        "return x.unsqueeze(-2).permute(0, 2, 3, 1).squeeze(-2)",
        "return self.conv(x.unsqueeze(1)).squeeze(1)",
        "return x[..., :1].squeeze(-1)",
    ],
)
def test_a_squeeze_of_an_axis_that_was_added(body: str) -> None:
    assert "ONX215" not in codes(body)


def test_a_squeeze_of_an_axis_of_the_input_itself() -> None:
    assert "ONX215" in codes("return x.permute(0, 2, 3, 1).squeeze(-2)")
    assert "ONX215" in codes("return x.squeeze(1)")


FROZEN = {
    "in a layer that is made in forward": "return nn.Upsample(size=[math.ceil(n / 2), 4])(x)",
    "in the padding of such a layer": "return nn.ZeroPad2d((0, max(8 - n, 0), 0, 0))(x)",
    "in a shape with one name": "size = [math.ceil(n / 2) for n in x.shape[-2:]]\nreturn nn.Upsample(size=size)(x)",
    "by a logarithm that counts the turns of a loop": (
        "turns = math.floor(np.log2(n))\nfor _ in range(turns - 1):\n    x = x[:, ::2]\nreturn x"
    ),
}


@pytest.mark.parametrize("body", FROZEN.values(), ids=FROZEN.keys())
def test_a_size_becomes_a_number(body: str) -> None:
    assert "ONX202" in codes("n = x.shape[2]\n" + body)


STACKED = """
heads = torch.stack(torch.split(x, 4, dim=-1))
heads = torch.matmul(torch.einsum("hnid,hnjd->hnij", heads, heads), heads)
return torch.cat(torch.split(heads, 1, dim=0), dim=-1)
"""


def test_a_stack_of_pieces_has_a_new_axis_before_the_batch() -> None:
    assert codes(STACKED) == []


def test_a_stack_of_a_list_that_grew_in_a_loop_may_have_one_for_each_row() -> None:
    grown = "rows = []\nfor row in x:\n    rows.append(row * 2)\nrows = torch.stack(rows, dim=0)\n"
    assert "ONX219" in codes(f"{grown}return rows + torch.cat([x.sum(0)] * rows.shape[0], dim=0)")


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ("return x * (step * step)", set()),
        ("return x.view(x.shape[0] * step, -1)", set()),
        ("return x.new_zeros(math.ceil(x.shape[0] / step) * step) * x.sum()", {("ONX202", 9)}),
        ("return x * (step * int(x.sum()))", {("ONX401", 9)}),
    ],
)
def test_a_number_that_is_read_from_a_constant_of_the_model_and(used: str, expected: set[tuple[str, int]]) -> None:
    source = f"""
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.strides = torch.tensor([8.0, 16.0])

        def forward(self, x: Tensor):
            step = int(self.strides.max())
            {used}
    """
    assert {(code, line) for code, line, _ in findings_of(source)} == expected


@pytest.mark.parametrize(
    ("table", "resized", "shown"), [("pos_embed", True, True), ("pos_embed", False, False), ("bias", True, False)]
)
def test_a_function_that_fits_positions_to_an_image_is_there_for_other_sizes(
    table: str, resized: bool, shown: bool
) -> None:
    size = "nn.functional.interpolate(table, size=(h // 8, w // 8))" if resized else "table[:, :, : h // 8, : w // 8]"
    source = f"""
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.{table} = nn.Parameter(torch.zeros(1, 16, 14, 14))
                self.patches = nn.Conv2d(3, 16, 8, 8)
            def forward(self, x: Tensor):
                b, c, h, w = x.shape
                return self.patches(x[: len(x)]) + self.fitted(h, w)
            def fitted(self, h, w):
                table = self.{table}
                if h == 112 and w == 112:
                    return table
                return {size}
    """
    assert (("ONX106", 12, ("torchscript", "dynamo")) in findings_of(source)) == shown


@pytest.mark.parametrize(
    ("number", "exporters"),
    [
        ("round(x.shape[0] / 2)", ("torchscript", "dynamo")),
        ("round(x.shape[2] * 0.5)", ("torchscript",)),  # measured: a size is a tensor to TorchScript on any axis
        ("round(min(x.shape[-2:]) / 4)", ("torchscript",)),
    ],
)
def test_a_size_that_is_rounded_ends_the_export(number: str, exporters: tuple[str, ...]) -> None:
    found = findings_of(f"{HEAD}        k = {number}\n        return x[:, :k]\n")
    assert {(code, at) for code, _, at in found} == {("ONX202", exporters)}


def test_a_number_that_int_made_of_a_size_is_rounded_by_python() -> None:
    assert codes("n = int(x.shape[0])\nreturn x[:, :round(n / 2)]") == ["ONX202"]


FLATTENED = """\
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(3, 8, 1)
    def forward(self, x):
        y = self.c(x).permute(0, 2, 3, 1)
        n = y.shape[1]
        return y.reshape(y.shape[0], n * n, {last})
torch.onnx.export(M().eval(), torch.zeros(1, 3, 4, 4), "m.onnx", input_names=["x"],
    dynamic_axes={{"x": {{0: "batch", 2: "height", 3: "width"}}}}, dynamo=False)
"""


@pytest.mark.parametrize(("last", "hit"), [("y.shape[3]", False), ("8", False), ("32", True)])
def test_a_size_that_the_tensor_has_anyway_stands_for_no_dynamic_axis(last: str, hit: bool) -> None:
    assert any(code == "ONX201" for code, *_ in findings_of(FLATTENED.format(last=last))) is hit
