"""The errors a person can meet. A message says what, which value, and what to do."""


class AdvisorError(Exception):
    """Base of all errors meant for a person; `code` is stable for programs."""

    code = "error"


class BadRequest(AdvisorError):
    """The request was not understood (exit status 2)."""

    code = "bad_request"


class NotFound(AdvisorError):
    """Something named does not exist."""

    code = "not_found"


class Unavailable(AdvisorError):
    """A service or file that is needed cannot be reached now."""

    code = "unavailable"
