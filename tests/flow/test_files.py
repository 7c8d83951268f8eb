"""What the interpreter sees across files: imports of every form, bases, cycles, and traces that pass through them."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysing import facts_of, told, written

GATE = "def gate(x):\n    if x.sum() > 0:\n        return x\n    return -x\n"
MODULE = """
import torch.nn as nn
class Gate(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x
"""


def calling(imports: str, expression: str) -> str:
    """A model with some imports whose forward returns an expression."""
    body = f"class M(nn.Module):\n    def forward(self, x):\n        return {expression}\n"
    return f"import torch.nn as nn\n{imports}\n{body}"


def building(imports: str, expression: str) -> str:
    """A model with some imports whose one submodule is an expression."""
    return f"""import torch.nn as nn
{imports}
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = {expression}
    def forward(self, x):
        return self.inner(x)
"""


FILES = {
    "from module import function": {"model.py": calling("from ops import gate", "gate(x)"), "ops.py": GATE},
    "import module": {"model.py": calling("import ops", "ops.gate(x)"), "ops.py": GATE},
    "import module as": {"model.py": calling("import ops as o", "o.gate(x)"), "ops.py": GATE},
    "import in forward": {
        "model.py": "import torch.nn as nn\nclass M(nn.Module):\n    def forward(self, x):\n"
        "        from ops import gate\n        return gate(x)\n",
        "ops.py": GATE,
    },
    "from package import module": {
        "model.py": calling("from layers import ops", "ops.gate(x)"),
        "layers/__init__.py": "",
        "layers/ops.py": GATE,
    },
    "a dotted module": {
        "model.py": calling("import layers.ops", "layers.ops.gate(x)"),
        "layers/__init__.py": "",
        "layers/ops.py": GATE,
    },
    "a package without an __init__": {
        "model.py": calling("import layers.ops as o", "o.gate(x)"),
        "layers/ops.py": GATE,
    },
    "a relative import": {
        "pkg/__init__.py": "",
        "pkg/model.py": calling("from .ops import gate", "gate(x)"),
        "pkg/ops.py": GATE,
    },
    "a relative import from above": {
        "pkg/__init__.py": "",
        "pkg/models/__init__.py": "",
        "pkg/models/model.py": calling("from ..ops import gate", "gate(x)"),
        "pkg/ops.py": GATE,
    },
    "a relative import of a module": {
        "pkg/__init__.py": "",
        "pkg/model.py": calling("from . import ops", "ops.gate(x)"),
        "pkg/ops.py": GATE,
    },
    "a name that __init__ passes on": {
        "model.py": calling("from layers import gate", "gate(x)"),
        "layers/__init__.py": "from .ops import gate\n",
        "layers/ops.py": GATE,
    },
    "a name passed on twice and renamed": {
        "model.py": calling("from layers import door", "door(x)"),
        "layers/__init__.py": "from .more import gate as door\n",
        "layers/more.py": "from .ops import gate\n",
        "layers/ops.py": GATE,
    },
    "a star import": {"model.py": calling("from ops import *", "gate(x)"), "ops.py": GATE},
    "a star import of a star import": {
        "model.py": calling("from layers import *", "gate(x)"),
        "layers/__init__.py": "from .ops import *\n",
        "layers/ops.py": GATE,
    },
    "star imports in a cycle": {
        "model.py": calling("from ops import *", "gate(x)"),
        "ops.py": "from model import *\n" + GATE,
    },
    "an import with a fallback, which is all there is": {
        "model.py": calling(
            "try:\n    from fast import gate\nexcept ImportError:\n    from slow import gate", "gate(x)"
        ),
        "slow.py": GATE,
    },
    "an import with a fallback, which is not needed": {
        "model.py": calling(
            "try:\n    from fast import gate\nexcept ImportError:\n    from slow import gate", "gate(x)"
        ),
        "fast.py": GATE,
        "slow.py": "def gate(x):\n    return x\n",
    },
    "an import with a function to fall back to": {
        "model.py": calling(
            "try:\n    from fast import gate\nexcept ImportError:\n    " + GATE.replace("\n", "\n    "), "gate(x)"
        ),
    },
    "an import that depends on the version": {
        "model.py": calling("if nn.__version__:\n    from ops import gate\nelse:\n    from ops import gate", "gate(x)"),
        "ops.py": GATE,
    },
    "modules that import each other": {
        "model.py": calling("import ops", "ops.gate(x)") + "def limit(x):\n    return 0\n",
        "ops.py": "import model\n" + GATE.replace("> 0", "> model.limit(x)"),
    },
    "a table of functions in another file": {
        "model.py": calling("from ops import TABLE", 'TABLE["gate"](x)'),
        "ops.py": GATE + 'TABLE = {"gate": gate}\n',
    },
    "a submodule": {"model.py": building("from gates import Gate", "Gate()"), "gates.py": MODULE},
    "a submodule that a function builds": {
        "model.py": building("from gates import make", "make(3)"),
        "gates.py": MODULE + "def make(n):\n    return Gate()\n",
    },
    "submodules that a function builds into a sequence": {
        "model.py": building("from gates import make", "make(3)"),
        "gates.py": MODULE + "def make(n):\n    return nn.Sequential(*[Gate() for _ in range(n)])\n",
    },
    "a class chosen from a table": {
        "model.py": building("from gates import TABLE", 'TABLE["gate"]()'),
        "gates.py": MODULE + "TABLE = dict(gate=Gate)\n",
    },
    "a class given to a constructor": {
        "model.py": building("from gates import Gate", "Holder(Gate)")
        + building("", "kind()").replace("class M", "class Holder").replace("(self):", "(self, kind):"),
        "gates.py": MODULE,
    },
    "a base": {"model.py": "from gates import Gate\nclass M(Gate):\n    pass\n", "gates.py": MODULE},
    "a base of a base, with the method of the class itself": {
        "model.py": "from middle import Middle\nclass M(Middle):\n    def limit(self):\n        return 0\n",
        "middle.py": "from gates import Gate\nclass Middle(Gate):\n    pass\n",
        "gates.py": MODULE.replace("> 0", "> self.limit()"),
    },
    "bases in a cycle": {
        "model.py": "from other import B\nimport torch.nn as nn\nclass A(B, nn.Module):\n    def forward(self, x):\n"
        "        if x.sum() > 0:\n            return x\n        return -x\n",
        "other.py": "from model import A\nclass B(A):\n    pass\n",
    },
}


@pytest.mark.parametrize("files", FILES.values(), ids=FILES.keys())
def test_reached_by(files: dict[str, str], tmp_path: Path) -> None:
    (line,) = told(written(files, tmp_path))
    assert line.startswith("Branch data: x.sum() > ")


SILENT = {
    "a function of a file that nobody imports": {"model.py": calling("", "x"), "ops.py": GATE},
    "a function of another file that nobody calls": {"model.py": calling("import ops", "ops.other(x)"), "ops.py": GATE},
    "a name that a library has": {
        "model.py": calling("from torch.nn.functional import relu as gate", "gate(x)"),
        "torch/nn/functional.py": GATE.replace("gate", "relu"),
    },
    "an import that two files answer to, the nearer one harmless": {
        "a/model.py": calling("from ops import gate", "gate(x)"),
        "a/ops.py": "def gate(x):\n    return x\n",
        "b/ops.py": GATE,
    },
    "modules that import themselves": {"model.py": "from model import *\n" + calling("import model", "model.gate(x)")},
    "a name that is defined by itself": {"model.py": calling("a = b\nb = a", "a(x)")},
    "a name that two files define by each other": {
        "model.py": calling("from ops import gate", "gate(x)"),
        "ops.py": "from model import gate\n",
    },
    "a class that is its own base": {
        "model.py": "class A(A):\n    def forward(self, x):\n        return x if x.any() else -x\n"
    },
}


@pytest.mark.parametrize("files", SILENT.values(), ids=SILENT.keys())
def test_silent_about(files: dict[str, str], tmp_path: Path) -> None:
    assert told(written(files, tmp_path)) == []


def test_a_value_that_a_helper_gives_is_traced_through_its_file(tmp_path: Path) -> None:
    files = {
        "model.py": calling("from ops import score", "x if score(x) > 0 else -x").replace(
            "return x if score(x) > 0", "n = score(x)\n        return x if n > 0"
        ),
        "ops.py": "def score(x):\n    y = x * 2\n    return y.sum()\n",
    }
    (observation,) = facts_of(written(files, tmp_path))
    assert observation.text == "n > 0"
    assert [(Path(s.path).name, s.line, s.message) for s in observation.trace] == [
        ("model.py", 4, "`x` is an input of `M.forward`"),
        ("model.py", 5, "passed to `score` as `x`"),
        ("ops.py", 2, "`y` is assigned"),
        ("model.py", 5, "`n` is assigned"),
    ]


def test_one_hazard_that_two_models_reach_is_one_fact(tmp_path: Path) -> None:
    files = {
        "model.py": calling("from ops import gate", "gate(x)"),
        "other.py": calling("from ops import gate", "gate(x)"),
    }
    assert len(facts_of(written({**files, "ops.py": GATE}, tmp_path))) == 1


def test_a_helper_is_analysed_for_what_each_caller_gives_it(tmp_path: Path) -> None:
    files = {
        "model.py": calling("from ops import gate", "gate(2)"),
        "other.py": calling("from ops import gate", "gate(x)"),
        "ops.py": "def gate(n):\n    if n > 0:\n        return 1\n    return 2\n",
    }
    assert told(written(files, tmp_path)) == ["Branch data: n > 0"]


def test_the_order_of_the_files_does_not_matter(tmp_path: Path) -> None:
    files = {**FILES["a base of a base, with the method of the class itself"], "ops.py": GATE}
    files["caller.py"] = calling("from ops import gate", "gate(x)")
    forwards = told(written(files, tmp_path / "a"))
    backwards = told(written(dict(reversed(files.items())), tmp_path / "b"))
    assert forwards == backwards
    assert len(forwards) == 2
