"""Families of programs that grow with n: what people write, and more of it. Each is a function from n to its files."""

# ruff: noqa: E501 - a program in one line is easier to read than in pieces
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n\n"
Files = dict[str, str]


@dataclass(frozen=True)
class Family:
    """One family. `most` is the largest n that is legal Python; `formats` also reads it in the other output formats."""

    name: str
    program: Callable[[int], Files]
    most: int = 5000
    formats: bool = False
    options: Callable[[int], list[str]] = lambda _: []


FAMILIES: dict[str, Family] = {}


def family(
    name: str, program: Callable[[int], str | Files], most: int = 5000, formats: bool = False, **more: object
) -> None:
    def files(n: int) -> Files:
        made = program(n)
        return made if isinstance(made, dict) else {"m.py": made}

    assert name not in FAMILIES
    FAMILIES[name] = Family(name, files, most, formats, **more)  # type: ignore[arg-type]


def block(lines: Iterable[str], depth: int) -> str:
    """Lines, and lines within them, indented."""
    return "".join(f"{'    ' * depth}{row}\n" for line in lines for row in line.split("\n"))


def model(*init: str, name: str = "M", base: str = "nn.Module", body: Iterable[str] = (), gives: str = "x") -> str:
    """A module whose forward is `body`."""
    made = block(["def __init__(self):", "    super().__init__()"], 1) + block(init, 2) if init else ""
    forward = "    def forward(self, x):\n" + block([*body, f"return {gives}"], 2)
    return f"class {name}({base}):\n{made}{forward}\n\n"


def forward(body: Callable[[int], Iterable[str]], *init: str, gives: str = "x") -> Callable[[int], str]:
    """A file with one module whose forward has the lines that `body` gives for n."""
    return lambda n: HEAD + model(*init, body=body(n), gives=gives)


def each(*lines: str) -> Callable[[int], Iterable[str]]:
    """These lines n times, with `$` for the number of the turn and `~` for that of the turn before."""
    return lambda n: (line.replace("$", str(i)).replace("~", str(i - 1)) for i in range(1, n + 1) for line in lines)


def joined(piece: str, between: str, n: int) -> str:
    """One expression of n pieces."""
    return between.join(piece.replace("$", str(i)) for i in range(n))


def one(head: str, piece: str, between: str = ", ", tail: str = "") -> Callable[[int], Iterable[str]]:
    """One statement with n pieces in it."""
    return lambda n: [head + joined(piece, between, n) + tail]


def nested(opening: str, inner: str, closing: str = "") -> Callable[[int], Iterable[str]]:
    """One statement within the other, n deep; `$` is the depth."""
    return lambda n: [
        *(f"{'    ' * i}{opening.replace('$', str(i))}" for i in range(n)),
        f"{'    ' * n}{inner}",
        *(block([closing], i).rstrip("\n") for i in range(n - 1, -1, -1) if closing),
    ]


IF, FOUND = "if x.sum() > $:", "x = x * x.item()"

# ---------------------------------------------------------------------------------------------------- branches
family("ifs", forward(each(f"{IF}\n    x = x + $")), formats=True)
family("ifs with else", forward(each(f"{IF}\n    x = x + $\nelse:\n    x = x - $")), formats=True)
family("early returns", forward(each(f"{IF}\n    return x + $")))
family("early returns of calls", forward(each(f"{IF}\n    return f(x, $)")))
family("guarded autocasts", forward(each("if x.shape[0] > $:\n    with torch.autocast('cpu'):\n        x = x + $")))
family(
    "elif arms", forward(lambda n: ["if x.sum() > 0:\n    x = x + 1", *each("el" + IF + "\n    x = x + $")(n)]), 2000
)
family("ifs on a size", forward(each("if x.shape[0] > $:\n    x = x + $")))
family("ifs on training", forward(each("if self.training:\n    x = x + $")))
family("ifs on the export", forward(each("if not torch.onnx.is_in_onnx_export():\n    x = x + $")))
family("ifs on None", forward(each("y$ = None if x.shape[0] > 1 else x\nif y$ is not None:\n    x = x + y$")))
family("early raises", forward(each("if x.shape[1] != $:\n    raise ValueError(x)")))
family("asserts", forward(each("assert x.sum() > $")))
family("and of tests", forward(one("if ", "x.sum() > $", " and ", ":\n    x = x + 1")))
family("or of tests", forward(one("if ", "x.sum() > $", " or ", ":\n    x = x + 1")))
family("and of unlike tests", forward(one("if ", "(x is not None or x.ndim > $)", " and ", ":\n    x = x + 1")))
family("chained comparison", forward(one("if 0 < ", "x.sum() + $", " < ", ":\n    x = x + 1")))
family("ternaries", forward(each("x = x + $ if x.sum() > $ else x")))
family("nested ternaries", forward(one("x = ", "x + $ if x.sum() > $ else ", "", "x")), 90)
family("nested ifs", forward(nested(IF, "x = x + 1")), 90)
family("nested ifs with else", forward(nested(IF, "x = x + 1", "else:\n    x = x - 1")), 45)
family("nested loops", forward(nested("for i$ in range(x.shape[0]):", "x = x + 1")), 20)
family("nested whiles", forward(nested("while x.sum() > $:", "x = x + 1")), 20)
family("nested withs", forward(nested("with torch.no_grad():", "x = x + 1")), 20)
family("nested tries", forward(nested("try:", "x = x + 1", "except RuntimeError:\n    x = x - 1")), 20)
family("match cases", forward(lambda n: ["match x.shape[0]:", *each("    case $:\n        x = x + $")(n)]))
family(
    "match statements", forward(each("match x.shape[0]:\n    case $:\n        x = x + $\n    case _:\n        pass"))
)
family("whiles", forward(each("while x.sum() > $:\n    x = x - $")))
family("loops", forward(each("for i in range(x.shape[0]):\n    x = x + i")))
family("loops over numbers", forward(each("for i in range($):\n    x = x + i")))
family("breaks", forward(lambda n: ["for i in range(x.shape[0]):", *each("    " + IF + "\n        break")(n)]))
family(
    "continues",
    forward(lambda n: ["for i in range(9):", *each("    x = x + $", "    " + IF + "\n        continue")(n)]),
)
family("tries", forward(each("try:\n    x = x + x.view(2, -1)\nexcept RuntimeError:\n    x = x + $")))
family("handlers", forward(lambda n: ["try:", "    x = x + 1", *each("except E$:\n    x = x + $")(n)]))
family("withs", forward(each("with torch.no_grad():\n    x = x + $")))
family("items of a with", forward(one("with ", "f($) as g$", ", ", ":\n    x = x + 1")))
family("statements after return", forward(lambda n: ["return x", *each("x = x + $")(n)]))
family("variables and ifs", forward(lambda n: [*each("v$ = x + $")(n), *each(f"{IF}\n    v$ = x")(n)]), formats=True)
family("variables and elses", forward(lambda n: [*each("v$ = x")(n), *each(f"{IF}\n    v$ = 1\nelse:\n    v$ = 2")(n)]))
family(
    "variables and loops", forward(lambda n: [*each("v$ = x")(n), *each("for i in range(x.shape[0]):\n    v$ = i")(n)])
)
family(
    "variables and tries",
    forward(lambda n: [*each("v$ = x")(n), *each("try:\n    v$ = f(x)\nexcept E:\n    v$ = 0")(n)]),
)
family("variables and ternaries", forward(lambda n: [*each("v$ = x")(n), *each("x = v$ if x.sum() > $ else x")(n)]))
family("one test for many ifs", forward(lambda n: ["t = x.sum() > 0", *each("if t:\n    x = x + $")(n)]))
family("attributes and ifs", forward(lambda n: each(f"{IF}\n    self.a$ = x")(n), "self.a = 1"))

# ------------------------------------------------------------------------------------------------------- names
family("assignments to one name", forward(each("x = x + $")))
family("assignments to many names", forward(lambda n: ["v0 = x", *each("v$ = v~ + 1")(n)]))
family("aliases", forward(lambda n: ["v0 = x", *each("v$ = v~")(n)]))
family("augmented assignments", forward(each("x += $")))
family("swaps", forward(lambda n: ["y = x + 1", *each("x, y = y, x")(n)]))
family("tuple targets", forward(lambda n: [joined("v$", ", ", n) + " = x"]))
family("chained targets", forward(one("", "v$", " = ", " = x")))
family("starred targets", forward(each("a, *b = x")))
family("walruses", forward(each("x = (y$ := x + $) + y$")))
family("globals read", lambda n: HEAD + "".join(each("G$ = $\n")(n)) + model(body=each("x = x + G$")(n)))
family("globals written", forward(each("global g$", "g$ = x")))
family(
    "globals in a chain",
    lambda n: HEAD + "G0 = 1\n" + "".join(each("G$ = G~ + 1\n")(n)) + model(body=[f"x = x + G{n}"]),
)
family(
    "constants assigned anew", lambda n: HEAD + "G = 1\n" + "".join(each("G = G + $\n")(n)) + model(body=["x = x + G"])
)

# ------------------------------------------------------------------------------------------------- expressions
family("sum", forward(one("x = ", "x", " + ")), 2500)
family("nested parentheses", forward(lambda n: ["x = " + "(x + " * n + "x" + ")" * n]), 190)
family("attribute chain", forward(lambda n: ["x = x" + ".a" * n]), 2500)
family("method chain", forward(lambda n: ["x = x" + ".relu()" * n]), 2500)
family("subscript chain", forward(lambda n: ["x = x" + "[0]" * n]), 2500)
family("nested calls", forward(lambda n: ["x = " + "F.relu(" * n + "x" + ")" * n]), 190)
family("arguments", forward(one("x = f(", "x", ", ", ")")))
family("arguments of torch", forward(one("x = torch.cat([", "x", ",\n", "])")), formats=True)
family("keyword arguments", forward(one("x = f(", "k$=x", ", ", ")")))
family("list literal", forward(one("y = [", "x", ", ", "]")))
family("dict literal", forward(one("y = {", "'k$': x", ", ", "}")))
family("dict that is read", forward(lambda n: [*one("y = {", "'k$': x", ", ", "}")(n), *each("x = x + y['k~']")(n)]))
family("dict that is written", forward(lambda n: ["y = {}", *each("y['k$'] = x + $")(n)]))
family("list that is appended to", forward(lambda n: ["y = []", *each("y.append(x + $)")(n), "x = torch.cat(y)"]))
family("list that is concatenated", forward(lambda n: ["y = []", *each("y = y + [x]")(n), "x = torch.cat(y)"]))
family("strings side by side", forward(lambda n: ["y = (", *each("    'abc'")(n), ")"]))
family("string concatenation", forward(one("y = ", "'abc$'", " + ")), 2500)
family("string that grows", forward(lambda n: ["y = ''", *each("y = y + 'abc$'")(n)]))
family("f-string parts", forward(one("y = f'", "{x$}", " ", "'")))
family("f-strings", forward(each("print(f'{x.shape[0]} {x}')")))
family("lines in one expression", forward(lambda n: ["x = (x", *each("    + $")(n), ")"]), 2500)
family("statements on a line", forward(one("", "x = x + $", "; ")))
family("comprehensions", forward(each("y$ = [i + $ for i in range($)]")))
family("comprehensions of tensors", forward(each("y$ = [t.item() for t in x]")))
family("lambdas", forward(each("f$ = lambda t: t + $\nx = f$(x)")))
family("lambdas in a chain", forward(lambda n: ["f0 = lambda t: t", *each("f$ = lambda t: f~(t)")(n), f"x = f{n}(x)"]))
family("slices", forward(each("x = x[:, $:]")))
family("indices", forward(one("x = x[", "0", ", ", "]")))
family("views", forward(each("x = x.view(2, -1)")), formats=True)
family("views of sizes", forward(each("x = x.view(x.shape[0] * $, -1)")))
family("dims of a view", forward(one("x = x.view(", "x.size($)", ", ", ")")))
family("permutes", forward(each("x = x.permute(1, 0)")))
family(
    "sizes that multiply", forward(lambda n: ["s = x.shape[0]", *each("s = s * x.shape[1] + $")(n), "x = x.view(s)"])
)
family("concatenations", forward(each("x = torch.cat([x, x], dim=0)")))
family("shapes unpacked", forward(each("b$, c$ = x.shape\nx = x.reshape(b$, c$)")))

# ---------------------------------------------------------------------------------------------------- findings
family("items", forward(each(FOUND)), formats=True)
family("numpy", forward(each("v$ = x.detach().numpy()")))
family(
    "numpy in a chain",
    lambda n: "import numpy as np\n" + HEAD + model(body=each("x = torch.from_numpy(np.abs(x.numpy()))")(n)),
)
family("findings in a statement", forward(one("x = torch.stack([", "x * x.item()", ", ", "])")), formats=True)
family("findings on many lines", forward(one("x = torch.stack([", "x * x.item()", ",\n", "])")), formats=True)
family("writes at an index", forward(each("x[:, $] = $")))
family("writes in place", forward(each("x.add_($)")))
family("writes through views", forward(each("y$ = x.view(-1)\ny$.add_($)")))
family("writes through one view", forward(lambda n: ["y = x.view(-1)", *each("y.add_($)")(n)]))
family("prints", forward(each("print(x)")))
family("dropouts", forward(each("x = F.dropout(x)")), formats=True)
family("random draws", forward(each("x = x + torch.randn(x.shape)")))
family("zeros of a size", forward(each("x = x + torch.zeros(x.shape[0], $)")))
family("tensors of tensors", forward(each("x = x + torch.tensor(x.shape[0])")))
family("counters", forward(each("self.count += $")))
family("squeezes", forward(each("x = x.squeeze()")))
family("ints of tensors", forward(each("n$ = int(x.sum())\nx = x[:n$]")))
family("loops over a tensor", forward(each("for t in x:\n    x = x + t")))
family(
    "without the import of torch", lambda n: "from torch import nn\n\n\n" + model(body=each(f"{IF}\n    x = x + $")(n))
)
family("fixes that overlap", forward(lambda n: [*nested(IF, "x = x + 1")(80)] * (n // 80 + 1)))

# ------------------------------------------------------------------------------------------ comments and files
family("noqa", forward(each(f"{FOUND}  # noqa")), formats=True)
family("noqa with a code", forward(each(f"{FOUND}  # noqa: ONX401")))
family("noqa of other tools", forward(each(f"{FOUND}  # noqa: E501, F401")))
family("noqa for nothing", forward(each("x = x + $  # noqa: ONX101")), formats=True)
family("noqa on lines of their own", lambda n: "# noqa: ONX101\n" * n + HEAD + model(body=[FOUND]), formats=True)
family("ignores", forward(each(f"{FOUND}  # onnxlint: ignore[ONX401] reason")))
family("ignores for nothing", forward(each("x = x + $  # onnxlint: ignore")), formats=True)
family("ignores of a whole file", lambda n: "# onnxlint: ignore-file[ONX101]\n" * n + HEAD + model(body=each(FOUND)(n)))
family(
    "noqa in a statement", forward(lambda n: ["x = torch.stack([", *each("    x * x.item(),  # noqa: ONX401")(n), "])"])
)
family("comments", lambda n: "# a comment\n" * n + HEAD + model(body=[FOUND]))
family("comments among ifs", forward(each(f"{IF}\n    # a comment\n    x = x + $  # another")))
family("empty lines", lambda n: HEAD + "\n" * n + model(body=[FOUND]))
family("a long comment", forward(lambda n: ["x = x.item()  # " + "long " * 16 * n]))
family("a long line of tabs", forward(lambda n: ["x = torch.stack([" + "\tx * x.item()," * n + "])"]))
family("a line of wide letters", forward(lambda n: [f"x = x.item() + f({'界' * 20 * n!r})"]))
family("wide letters", forward(lambda n: one("x = torch.stack([", "x * x.item() * len('界')", ", ", "])")(n)))
family(
    "per-file-ignores",
    forward(each(FOUND)),
    options=lambda n: [o for i in range(n) for o in ("--per-file-ignores", f"a{i}*b:ONX401")],
)
family("files", lambda n: {f"m{i}.py": HEAD + model(body=[FOUND]) for i in range(n)}, formats=True)
family(
    "files of one base",
    lambda n: {
        "base.py": HEAD + model(name="Base", body=["x = self.act(x)"]),
        **{
            f"m{i}.py": "from base import Base\n\n\nclass M(Base):\n    def act(self, x):\n        return x.item()\n"
            for i in range(n)
        },
    },
)
family(
    "folders in folders",
    lambda n: {"/".join(["d"] * i) + "/m.py": HEAD + model(body=[FOUND]) for i in range(1, n + 1)},
    100,
)
family("imports", lambda n: "".join(each("import m$\n")(n)) + HEAD + model(body=each("x = m$.f(x)")(n)))
family(
    "names in one import",
    lambda n: f"from a import {joined('n$', ', ', n)}\n" + HEAD + model(body=each("x = n~(x)")(n)),
)
family(
    "star imports",
    lambda n: {
        "main.py": "".join(f"from m{i} import *\n" for i in range(n)) + HEAD + model(body=each("x = f~(x)")(n)),
        **{f"m{i}.py": f"import torch\n\n\ndef f{i}(x):\n    return x.item()\n" for i in range(n)},
    },
)
family(
    "star imports in a chain",
    lambda n: {
        "m0.py": "import torch\n\n\ndef f(x):\n    return x.item()\n",
        **{f"m{i}.py": f"from m{i - 1} import *\n" for i in range(1, n)},
        "main.py": HEAD + f"from m{n - 1} import *\n\n\n" + model(body=["x = f(x)"]),
    },
)
family(
    "modules in a cycle",
    lambda n: {
        f"m{i}.py": f"{HEAD}import m{(i + 1) % n}\n\n\n" + model(body=[FOUND, f"x = m{(i + 1) % n}.M()(x)"])
        for i in range(n)
    },
)
family(
    "modules that know each other",
    lambda n: {
        f"m{i}.py": "".join(f"import m{(i + k) % n}\n" for k in (1, 2, 3, 5, 7))
        + HEAD
        + model(body=[f"x = m{(i + 7) % n}.M()(x)"])
        for i in range(n)
    },
)

# ----------------------------------------------------------------------------------------------------- classes
METHOD = "\n    def m$(self, x):\n        return x.item() + $"
family(
    "methods",
    lambda n: HEAD + model(body=each("x = self.m$(x)")(n)).rstrip() + "\n" + "".join(each(METHOD + "\n")(n)),
    formats=True,
)
family("methods nobody calls", lambda n: HEAD + model().rstrip() + "\n" + "".join(each(METHOD + "\n")(n)))
family(
    "methods in a chain",
    lambda n: (
        HEAD
        + model(body=["x = self.m1(x)"]).rstrip()
        + "\n"
        + "".join(f"\n    def m{i}(self, x):\n        return self.m{i + 1}(x + x.item())\n" for i in range(1, n + 1))
    ),
)
family("classes", lambda n: HEAD + "".join(model(name=f"M{i}", body=[FOUND]) for i in range(n)), formats=True)
family(
    "classes that hold each other",
    lambda n: (
        HEAD
        + "".join(
            model(
                f"self.next = M{i - 1}()" if i else "self.next = nn.Identity()",
                name=f"M{i}",
                body=["x = self.next(x) + x.item()"],
            )
            for i in range(n)
        )
    ),
)
family(
    "chain of subclasses",
    lambda n: HEAD + model(name="M0", body=[FOUND]) + "".join(each("class M$(M~):\n    size = $\n\n\n")(n)),
    formats=True,
)
family(
    "chain that overrides",
    lambda n: (
        HEAD
        + model(name="M0", body=[FOUND])
        + "".join(model(name=f"M{i}", base=f"M{i - 1}", body=["y = x.item()"]) for i in range(1, n))
    ),
)
family(
    "chain of super calls",
    lambda n: (
        HEAD
        + model(name="M0", body=["x = x.item()"])
        + "".join(model(name=f"M{i}", base=f"M{i - 1}", body=["x = super().forward(x)"]) for i in range(1, n))
    ),
)
family(
    "chain of super inits",
    lambda n: (
        HEAD
        + model("self.a0 = 0", name="M0", body=["x = x.item()"])
        + "".join(model(f"self.a{i} = {i}", name=f"M{i}", base=f"M{i - 1}") for i in range(1, n))
    ),
)
family(
    "ladder of diamonds",
    lambda n: (
        HEAD
        + model(name="B0", body=["x = x.item()"])
        + "class C0(B0):\n    pass\n\n\n"
        + "".join(each("class B$(B~, C~):\n    pass\n\n\nclass C$(B~):\n    pass\n\n\n")(n))
    ),
)
family(
    "bases of one class",
    lambda n: (
        HEAD + "".join(each("class A$:\n    a$ = $\n\n\n")(n)) + model(base=joined("A$", ", ", n) + ", nn.Module")
    ),
)
family(
    "subclasses of one base",
    lambda n: (
        HEAD
        + model(name="Base", body=["x = self.act(x)"])
        + "".join(each("class M$(Base):\n    def act(self, x):\n        return x.item() + $\n\n\n")(n))
    ),
)
family(
    "subclasses that change nothing",
    lambda n: HEAD + model(name="Base", body=["x = x.item()"]) + "".join(each("class M$(Base):\n    pass\n\n\n")(n)),
)
family("attributes", lambda n: HEAD + model(*each("self.a$ = $")(n), body=each("x = x + self.a$")(n)))
family(
    "attributes of the class",
    lambda n: (
        HEAD
        + "class M(nn.Module):\n"
        + block(each("a$ = $")(n), 1)
        + "\n    def forward(self, x):\n"
        + block([*each("x = x + self.a$")(n), "return x"], 2)
    ),
)
family(
    "properties",
    lambda n: (
        HEAD
        + model(body=each("x = x + self.p$")(n)).rstrip()
        + "\n"
        + "".join(each("\n    @property\n    def p$(self):\n        return self.a$\n")(n))
    ),
)
family(
    "buffers",
    lambda n: HEAD + model(*each("self.register_buffer('b$', torch.zeros($))")(n), body=each("self.b$ += x")(n)),
)
family(
    "parameters",
    lambda n: HEAD + model(*each("self.p$ = nn.Parameter(torch.zeros($))")(n), body=each("x = x * self.p$")(n)),
)
family(
    "layers",
    lambda n: HEAD + model(*each("self.l$ = nn.Linear(8, 8)")(n), body=each("x = self.l$(x)")(n)),
    formats=True,
)
family(
    "layers of Sequential",
    lambda n: HEAD + model(f"self.net = nn.Sequential({joined('nn.Linear(8, 8)', ', ', n)})", body=["x = self.net(x)"]),
)
family(
    "entries of ModuleList",
    lambda n: (
        HEAD
        + model(
            f"self.net = nn.ModuleList([{joined('nn.Linear(8, $)', ', ', n)}])",
            body=["for f in self.net:\n    x = f(x) + x.item()"],
        )
    ),
)
family(
    "entries of ModuleList by index",
    lambda n: (
        HEAD
        + model(f"self.net = nn.ModuleList([{joined('nn.Linear(8, $)', ', ', n)}])", body=each("x = self.net[~](x)")(n))
    ),
)
family(
    "hooks",
    lambda n: (
        HEAD
        + "def hook(m, a, o):\n    return o.item()\n\n\n"
        + model(
            *each("self.l$ = nn.Linear(8, 8)\nself.l$.register_forward_hook(hook)")(n), body=each("x = self.l$(x)")(n)
        )
    ),
)
family(
    "submodules of one class",
    lambda n: (
        HEAD
        + model(name="Sub", body=["x = x.item()"])
        + model(*each("self.s$ = Sub()")(n), body=each("x = self.s$(x)")(n))
    ),
)
family(
    "submodules of many sizes",
    lambda n: (
        HEAD
        + "class Sub(nn.Module):\n    def __init__(self, k):\n        super().__init__()\n        self.k = k\n\n    def forward(self, x):\n        return x.view(self.k, -1).item()\n\n\n"
        + model(*each("self.s$ = Sub($)")(n), body=each("x = self.s$(x)")(n))
    ),
)
family(
    "fields of a dataclass",
    lambda n: (
        "from dataclasses import dataclass\n"
        + HEAD
        + "@dataclass\nclass C:\n"
        + block(each("f$: int = $")(n), 1)
        + "\n\n"
        + model("self.c = C()", body=each("x = x + self.c.f$")(n))
    ),
)
family(
    "union annotations",
    lambda n: HEAD + f"def f(x: {joined('A$', ' | ', n)}):\n    return x.item()\n\n\n" + model(body=["x = f(x)"]),
    2500,
)
family(
    "overloads",
    lambda n: (
        "from typing import overload\n"
        + HEAD
        + "".join(each("@overload\ndef f(x: A$): ...\n")(n))
        + "def f(x):\n    return x.item()\n\n\n"
        + model(body=["x = f(x)"])
    ),
)
family(
    "decorators of one function",
    lambda n: (
        HEAD
        + "def d(f):\n    return f\n\n\n"
        + "@d\n" * n
        + "def f(x):\n    return x.item()\n\n\n"
        + model(body=["x = f(x)"])
    ),
)
family(
    "wrapping decorators of one function",
    lambda n: (
        HEAD
        + "def d(f):\n    def g(*a):\n        return f(*a)\n    return g\n\n\n"
        + "@d\n" * n
        + "def f(x):\n    return x.item()\n\n\n"
        + model(body=["x = f(x)"])
    ),
)
family(
    "decorated functions",
    lambda n: (
        HEAD
        + "def d(f):\n    def g(*a):\n        return f(*a)\n    return g\n\n\n"
        + "".join(each("@d\ndef f$(x):\n    return x.item()\n\n\n")(n))
        + model(body=each("x = f$(x)")(n))
    ),
)
family(
    "classes in classes",
    lambda n: (
        HEAD
        + block(
            nested(
                "class C$(nn.Module):", "def forward(self, x):\n    return x.item()".replace("\n", "\n" + "    " * n)
            )(n),
            0,
        )
    ),
    90,
)
family(
    "nested functions",
    forward(
        lambda n: [
            *nested("def f$(x):", "return x.item()")(n),
            *(f"{'    ' * i}return f{i}(x)" for i in range(n - 1, 0, -1)),
            "x = f0(x)",
        ]
    ),
    90,
)
family("functions in a function", forward(each("def f$(t):\n    return t.item()\nx = f$(x)")))
family(
    "members of an enum",
    lambda n: (
        "from enum import Enum\n"
        + HEAD
        + "class E(Enum):\n"
        + block(each("A$ = $")(n), 1)
        + "\n\n"
        + model(body=each("x = x + E.A$.value")(n))
    ),
)

# --------------------------------------------------------------------------------------------------- functions
DEF = "def f$(x):\n    return "
family(
    "helpers in a chain",
    lambda n: (
        HEAD
        + "def f0(x):\n    return x.item()\n\n\n"
        + "".join(each(DEF + "f~(x + 1)\n\n\n")(n))
        + model(body=[f"x = f{n}(x)"])
    ),
)
family(
    "helpers in a chain, last first",
    lambda n: (
        HEAD
        + "".join(f"def f{i}(x):\n    return f{i - 1}(x + 1)\n\n\n" for i in range(n, 0, -1))
        + "def f0(x):\n    return x.item()\n\n\n"
        + model(body=[f"x = f{n}(x)"])
    ),
)
family(
    "helpers called twice",
    lambda n: (
        HEAD
        + "def f0(x):\n    return x.item()\n\n\n"
        + "".join(each(DEF + "f~(x) + f~(x + 1)\n\n\n")(n))
        + model(body=[f"x = f{n}(x)"])
    ),
)
family(
    "helpers called with two kinds",
    lambda n: (
        HEAD
        + "def f0(x, y):\n    return x.item()\n\n\n"
        + "".join(each("def f$(x, y):\n    return f~(x, y + 1) + f~(x.view(2, -1), y + 2)\n\n\n")(n))
        + model(body=[f"x = f{n}(x, 1)"])
    ),
)
family(
    "functions in a cycle",
    lambda n: (
        HEAD
        + "".join(f"def f{i}(x):\n    return f{(i + 1) % n}(x + x.item())\n\n\n" for i in range(n))
        + model(body=["x = f0(x)"])
    ),
)
family(
    "functions that call each other",
    lambda n: (
        HEAD
        + "".join(
            f"def f{i}(x):\n    return f{(i * 7 + 1) % n}(x) + f{(i * 3 + 2) % n}(x.item())\n\n\n" for i in range(n)
        )
        + model(body=["x = f0(x)"])
    ),
)
family(
    "call sites", lambda n: HEAD + "def f(x, k):\n    return x.view(k, -1)\n\n\n" + model(body=each("x = f(x, $)")(n))
)
family(
    "call sites of two helpers",
    lambda n: (
        HEAD
        + "def f(x, k):\n    return g(x.view(k, -1), k)\n\n\ndef g(x, k):\n    return x.view(k, k).item()\n\n\n"
        + model(body=each("x = f(x, $)")(n))
    ),
)
family(
    "call sites of a branch",
    lambda n: (
        HEAD
        + "def f(x, k):\n    if x.sum() > k:\n        x = x + k\n    return x\n\n\n"
        + model(body=each("x = f(x, $)")(n))
    ),
)
family(
    "helpers of many forwards",
    lambda n: (
        HEAD
        + "def f(x):\n    return x.item()\n\n\n"
        + "".join(model(name=f"M{i}", body=["x = f(x)"]) for i in range(n))
    ),
)
family("functions", lambda n: HEAD + "".join(each(DEF + "x.item()\n\n\n")(n)) + model(body=each("x = f$(x)")(n)))
family("functions nobody calls", lambda n: HEAD + "".join(each(DEF + "x.item()\n\n\n")(n)) + model())
family(
    "parameters of a function",
    lambda n: HEAD + f"def f(x, {joined('p$=0', ', ', n)}):\n    return x.item()\n\n\n" + model(body=["x = f(x)"]),
)
family(
    "inputs of forward",
    lambda n: (
        HEAD
        + f"class M(nn.Module):\n    def forward(self, {joined('x$', ', ', n)}):\n"
        + block([*each("y$ = x~.item()")(n), "return x0"], 2)
    ),
)
family("outputs of forward", forward(each("v$ = x + $"), gives="x"))
family("generators", forward(each("x = sum(t + $ for t in x)")))
family(
    "yields",
    lambda n: (
        HEAD
        + "def f(x):\n"
        + block(each("yield x + $")(n), 1)
        + "\n\n"
        + model(body=["for t in f(x):\n    x = x + t.item()"])
    ),
)
family("partials", forward(lambda n: ["f0 = torch.add", *each("f$ = partial(f~, alpha=$)")(n), f"x = f{n}(x, 1)"]))
family("dead branches", forward(each("if False:\n    x = x.item() + $")))
family(
    "autograd functions",
    lambda n: (
        HEAD
        + "".join(
            each(
                "class A$(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x * $\n\n\n"
            )(n)
        )
        + model(body=each("x = A$.apply(x)")(n))
    ),
)
family(
    "scripted functions",
    lambda n: (
        HEAD
        + "".join(each("@torch.jit.script\ndef f$(x):\n    return x.item()\n\n\n")(n))
        + model(body=each("x = f$(x)")(n))
    ),
)

# ----------------------------------------------------------------------------------------------------- exports
EXPORT = "torch.onnx.export(m, torch.zeros(1, 3), 'm$.onnx')"
MODEL = HEAD + model(body=[IF.replace("$", "0"), "    x = x + 1"])
family("exports", lambda n: MODEL + "m = M()\n" + "".join(each(EXPORT + "\n")(n)), formats=True)
family("exports in functions", lambda n: MODEL + "".join(each("def run$():\n    m = M()\n    " + EXPORT + "\n\n\n")(n)))
family(
    "exports of many models",
    lambda n: (
        HEAD
        + "".join(model(name=f"M{i}", body=[FOUND]) for i in range(n))
        + "".join(f"torch.onnx.export(M{i}(), torch.zeros(1, 3), 'm{i}.onnx')\n" for i in range(n))
    ),
)
family(
    "dynamic axes",
    lambda n: (
        MODEL
        + f"torch.onnx.export(M(), torch.zeros(2, 3), 'm.onnx', input_names=['x'], dynamic_axes={{{joined(chr(39) + 'k$' + chr(39) + ': {0: ' + chr(39) + 'b' + chr(39) + '}', ', ', n)}}})\n"
    ),
)
family(
    "exports behind a wrapper",
    lambda n: (
        MODEL
        + "def run(m, name):\n    torch.onnx.export(m, torch.zeros(1, 3), name)\n\n\nm = M()\n"
        + "".join(each("run(m, 'm$.onnx')\n")(n))
    ),
)
family(
    "statements of a script",
    lambda n: MODEL + "m = M()\n" + "".join(each("a$ = torch.zeros($, 3)\n")(n)) + EXPORT + "\n",
)

# --------------------------------------------------------------------------------- what only an adversary writes
family(
    "exports on one line",
    lambda n: (
        MODEL + "m = M()\n" + "; ".join("torch.onnx.export(m, torch.zeros(1, 3), 'm.onnx')" for _ in range(n)) + "\n"
    ),
)
family(
    "exports after casts",
    lambda n: MODEL + "m = M()\n" + "".join(each("m = m.half()\nm.to('cpu')\n" + EXPORT + "\n")(n)),
)
family(
    "exports in arms",
    lambda n: (
        MODEL + "import sys\nm = M()\n" + "".join(each("if len(sys.argv) > $:\n    m = M()\n    " + EXPORT + "\n")(n))
    ),
)
family(
    "exports with axes",
    lambda n: (
        MODEL
        + "m = M()\n"
        + "".join(
            each(
                "torch.onnx.export(m, torch.zeros(2, 3), 'm$.onnx', input_names=['x'], dynamic_axes={'x': {0: 'b$'}}, dynamo=False)\n"
            )(n)
        )
    ),
)
family(
    "exports in one list",
    lambda n: (
        MODEL
        + "m = M()\ndone = ["
        + ", ".join("torch.onnx.export(m, torch.zeros(1, 3), 'm.onnx')" for _ in range(n))
        + "]\n"
        + "".join(each("print($)\n")(n))
    ),
)
family("data attributes of a statement", forward(one("x = torch.stack([", "x.data", ", ", "])")))
family("subtractions of one name", forward(each("x = x - x[:, None]")))
family("positions of one name", forward(each("i = x.argmax(-1) - 1\nx = x[i, i]")))
family("masks of one name", forward(each("m = x > $\nx = F.scaled_dot_product_attention(x, x, x, attn_mask=m)")))
family(
    "branches of a loop",
    forward(
        lambda n: [
            "while x.sum() > 0:",
            *each("    if x.max() > $:\n        x = x - $\n    else:\n        x = x + $")(n),
        ]
    ),
)
family(
    "inner functions that recurse",
    forward(each("def f$(t, k):\n    return f$(t, k - 1) if k else t.item()\nx = f$(x, 9)")),
)
family("nested literal loops", forward(nested("for i$ in (1, 2):", "x = x + 1")), 20)
family(
    "nested comprehensions",
    forward(lambda n: ["y = " + "[" * n + "x" + "".join(f" for i{k} in (1, 2)]" for k in range(n))]),
    60,
)
family("short statements on a line", forward(lambda n: [";".join(["x=x+1"] * 40 * n)]))
family(
    "names of one star import",
    lambda n: {
        "a.py": "".join(each("def f$(x):\n    return x.item()\n\n\n")(n)),
        "m.py": "from a import *\n" + HEAD + model(body=each("x = f$(x)")(n)),
    },
)
family(
    "autograd functions nobody calls",
    lambda n: {
        f"m{i}.py": f"import torch\n\n\nclass A{i}(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x * x.item()\n"
        for i in range(n)
    },
)
family("tuples in tuples", forward(lambda n: ["y = (x, x)", *each("y = (y, y)")(n), "x = y[0]"]))
