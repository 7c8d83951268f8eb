"""The tables of names and words that rules keep beside their code, by the code of the rule."""

import tomllib

from onnxlint.base.files import own_text

TABLES = tomllib.loads(own_text(__file__, "tables.toml"))
