"""Paths as CI services want them: relative to the checkout, wherever in it onnxlint was started."""

import os
import re

GITHUB = "GITHUB_WORKSPACE"
GITLAB = "CI_PROJECT_DIR"


def in_checkout(path: str, variable: str) -> str:
    """A path from the folder on that a variable of the environment names; as it is where that is not above it."""
    root = os.environ.get(variable)
    if not root or not path:
        return path
    inside = os.path.relpath(os.path.abspath(path), root).replace(os.sep, "/")
    return path if f"{inside}/".startswith("../") else inside


def as_text(path: str) -> str:
    """A path that JSON can hold for every reader: what is no UTF-8 becomes an escape, all else stays."""
    return re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", path)
