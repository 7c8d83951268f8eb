"""Fingerprints that tell alike findings apart, for readers that show one finding for each."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator


def distinct(fingerprints: Iterable[str]) -> Iterator[str]:
    """The same, in order; where one comes again, it gets a number, and what follows from both."""
    seen: Counter[str] = Counter()
    for fingerprint in fingerprints:
        seen[fingerprint] += 1
        yield fingerprint if seen[fingerprint] == 1 else digest(fingerprint, str(seen[fingerprint]))


def digest(*parts: str) -> str:
    """16 hexadecimal digits that follow from the parts."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
