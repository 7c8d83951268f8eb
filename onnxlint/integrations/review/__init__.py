"""Findings as a review of a pull request on GitHub."""

_MAY_NOT = frozenset({403, 404})  # how GitHub tells a token that it may not do this


class ReviewError(Exception):
    """What GitHub answered, or that it did not; the message is for the user, and never holds the token."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status

    @property
    def forbidden(self) -> bool:
        """Whether the token may not do this, as that of a workflow that runs for a fork."""
        return self.status in _MAY_NOT

    @property
    def rejected(self) -> bool:
        """Whether GitHub read the request and did not like what is in it."""
        return self.status == 422

    @property
    def unsure(self) -> bool:
        """Whether it may have been done all the same: GitHub broke off, or its answer did not come."""
        return self.status is None or self.status >= 500
