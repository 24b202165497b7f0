"""An advisor that is still being opened: whoever uses it waits for it, and the page does not."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from advisor.errors import AdvisorError, Unavailable
from knowledge.errors import KnowledgeError

if TYPE_CHECKING:
    from advisor.settings import Settings

log = logging.getLogger("advisor.web")


class Later:
    """Stands for what `make` gives. `start` opens it in a thread; any attribute waits for that.

    Raises Unavailable, with the reason, where it could not be made.
    """

    def __init__(self, make: Callable[[], Any]):
        self._make = make
        self._made = threading.Event()
        self._value: Any = None
        self._failure: str | None = None
        self.opened = threading.Event()
        """Set once the stores behind it have been opened too, or it is known that it cannot be made."""

    @property
    def is_open(self) -> bool:
        """Whether `opened` is set."""
        return self.opened.is_set()

    def start(self) -> None:
        """Begin to open; returns at once."""
        threading.Thread(target=self._open, daemon=True, name="opening-advisor").start()

    def _open(self) -> None:
        # What is loaded now stays until the end: collecting garbage between finds nothing, and need not look at it later.
        gc.disable()
        try:
            self._load()
        finally:
            gc.collect()
            gc.freeze()
            gc.enable()

    def _load(self) -> None:
        try:
            self._value = self._make()
        except AdvisorError as error:
            self._failure = str(error)
        except Exception as error:  # whoever asks next is told; the log has the traceback
            log.exception("the advisor could not be opened")
            self._failure = f"{type(error).__name__}: {error}"
        finally:
            self._made.set()
        if self._failure is None:
            self._warm()
        self.opened.set()

    def _warm(self) -> None:
        """Open the stores and the reader before the first question; a failure is told to whoever asks."""
        from advisor.planner.reading import read

        try:
            self._value.health()
            self._value.passages.search("NVLink", 1)
            read("70B, 2 x 8 H100")
        except (AdvisorError, KnowledgeError) as error:
            log.warning("the knowledge base cannot be opened yet: %s", error)

    def __getattr__(self, name: str) -> Any:
        """The attribute of the real one, once it is there."""
        self._made.wait()
        if self._failure is not None:
            raise Unavailable(self._failure)
        return getattr(self._value, name)


def make_advisor(settings: Settings) -> Any:
    """The advisor over the stores of the settings; its turns are logged."""
    from advisor.conversation import build_advisor
    from advisor.turnlog import Observed

    return Observed(build_advisor(settings), settings)
