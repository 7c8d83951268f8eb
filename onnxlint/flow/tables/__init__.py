"""Tables that the dataflow reads: of torch's operators, and the lists of names that mean something to it."""

import tomllib

from onnxlint.base.files import own_text

_LISTS = tomllib.loads(own_text(__file__, "names.toml"))
NAMES = {list_name: tuple(names.split()) for list_name, names in _LISTS.items() if isinstance(names, str)}
EXPORTER_GUARDS = {function: frozenset(exporters.split()) for function, exporters in _LISTS["exporter-guards"].items()}
LAYER_OPERATORS = {layer: tuple(words.split()) for layer, words in _LISTS["layer-operators"].items()}
DTYPES: dict[str, str] = _LISTS["floating-dtypes"]
LAYER_ARGUMENTS: dict[str, int] = _LISTS["layer-arguments"]
