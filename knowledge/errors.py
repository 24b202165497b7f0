"""Errors of the knowledge base: what, which value, and what to do. `code` is stable for programs."""


class KnowledgeError(Exception):
    """Base of the errors that reading or writing knowledge can raise."""

    code = "knowledge_error"


class DataError(KnowledgeError):
    """A file of facts does not hold what its form promises."""

    code = "bad_data"


class UnknownOffer(KnowledgeError):
    """No offer has the id asked for."""

    code = "unknown_offer"


class StoreUnavailable(KnowledgeError):
    """The folder or file of a store cannot be read or written."""

    code = "store_unavailable"
