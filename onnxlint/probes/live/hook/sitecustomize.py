"""Python imports this before the user's script, where `onnxlint run` has put its folder in front of PYTHONPATH.

It removes every trace of that, starts to listen for exports, and makes way for the `sitecustomize` of the environment.
Another Python than the one that onnxlint runs in is left alone.
"""

import importlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(HERE))))
OURS = sys.modules["sitecustomize"]

sys.path[:] = [place for place in sys.path if os.path.abspath(place or ".") != HERE]
sys.path_importer_cache.pop(HERE, None)
address, root, prefix, path = (os.environ.pop(f"ONNXLINT_{n}", "") for n in ("CHANNEL", "ROOT", "PREFIX", "PYTHONPATH"))
os.environ.pop("PYTHONPATH", None)
if path:
    os.environ["PYTHONPATH"] = path

if address and prefix == sys.prefix and "ONNXLINT_PROBES" not in os.environ:
    path_before = list(sys.path)
    sys.path.insert(0, HOME)
    capture = importlib.import_module("onnxlint.probes.live.capture")
    sys.path[:] = path_before
    capture.listen(address, root)

del sys.modules["sitecustomize"]
try:
    importlib.import_module("sitecustomize")
except ModuleNotFoundError:
    sys.modules["sitecustomize"] = OURS
