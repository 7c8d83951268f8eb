"""What a probe is doing right now, reported by the worker to the pool, so that a crash can name its stage."""

from collections.abc import Callable

BUILD = "building the model"
GUESS = "looking for inputs that it takes"
WAYS = "looking for further ways to call it"

_listener: Callable[[str], None] | None = None


def stage(name: str) -> None:
    """Report what comes next, as a gerund phrase ("exporting with dynamo"). Does nothing outside a probe's process."""
    if _listener is not None:
        _listener(name)


def listen(listener: Callable[[str], None] | None) -> None:
    """Send every later stage to `listener`; None stops that."""
    global _listener
    _listener = listener
