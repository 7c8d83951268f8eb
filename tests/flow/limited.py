"""Sources analysed in a process of its own, one after another, under limits on its memory and its processor time.

As a script it reads the sources as JSON and prints what came of each as soon as that is known.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MEMORY = 500_000_000
HERE = Path(__file__).resolve().parent


def limit(memory: int = MEMORY, seconds: int | None = None) -> None:
    """Let this process have no more."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    if seconds is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def child(script: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a script of this folder with the helpers of the tests at hand."""
    places = os.pathsep.join((str(HERE), str(HERE.parent), str(HERE.parents[1])))
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        input=stdin,
        env={**os.environ, "PYTHONPATH": places},
        capture_output=True,
        text=True,
        check=False,
    )


def outcomes(sources: Mapping[str, str], seconds: int) -> dict[str, dict[str, Any]]:
    """What came of each source: `observations`, `problems`, `error`, `seconds` of CPU; a dead process has no say.

    The process ends after so many seconds of processor time for all of them.
    """
    done = child(Path(__file__), str(seconds), stdin=json.dumps(sources))
    return dict(map(json.loads, done.stdout.splitlines()))


def main(seconds: int) -> None:
    """Analyse the sources of standard input."""
    from analysing import analyse, project_of

    limit(seconds=seconds)
    for name, text in json.load(sys.stdin).items():
        began, told = time.process_time(), {"observations": [], "problems": [], "error": ""}
        try:
            found = analyse(project_of(text), debug=True)
            told["observations"] = [observation.text for observation in found.observations]
            told["problems"] = [problem.message for problem in found.problems]
        except Exception as error:  # noqa: BLE001 - the test shows it
            told["error"] = f"{type(error).__name__}: {error}"
        print(json.dumps((name, {**told, "seconds": time.process_time() - began})), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
