"""Gradio in half of its start-up time: what only its authors or its own launcher need is left out while it starts."""

from __future__ import annotations

import contextlib
import copy
import functools
import gc
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

HIDDEN = ("mcp", "httpx._main")
"""Modules that others import where they can, for functions that this page does not use."""
PUT_OFF: dict[str, tuple[str, ...]] = {"pandas": (), "gradio.cli": ("deploy",)}
"""Modules that Gradio imports and that no page without data frames uses; names that it takes out of them at once."""


ENVIRONMENT = {
    "GRADIO_ANALYTICS_ENABLED": "False",
    "HF_HUB_OFFLINE": "1",
    # Gradio's own statistics of its last 10,000 events, worked out anew after each of them; nobody sees them here.
    "GRADIO_ANALYTICS_CACHE_FREQUENCY": "1000000000",
    "GRADIO_ANALYTICS_MAX_EVENTS": "1000",
}


class PutOff(ModuleType):
    """Stands for a module until something of it is used; then the real one is imported."""

    def __getattr__(self, name: str) -> Any:
        """The attribute of the real module."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(importlib.import_module(self.__name__), name)


@contextlib.contextmanager
def quick_import() -> Iterator[None]:
    """While this lasts, Gradio's modules are imported without their by-products.

    On import Gradio writes an interface file beside the source of each of its components, which parses every one of those
    sources and wants an installation that can be written to; it leaves that out for a class whose file is not known. What
    an import makes stays, so collecting garbage meanwhile finds nothing.
    """
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    getfile, collects = inspect.getfile, gc.isenabled()
    stand_ins: dict[str, Any] = {name: None for name in HIDDEN if name not in sys.modules}
    for name, taken in PUT_OFF.items():
        if name not in sys.modules:
            stand_ins[name] = PutOff(name)
            vars(stand_ins[name]).update(dict.fromkeys(taken))

    def getfile_elsewhere(item: Any) -> str:
        if isinstance(item, type) and item.__module__.startswith("gradio."):
            raise OSError("not asked while Gradio is imported")
        return getfile(item)

    inspect.getfile = getfile_elsewhere  # type: ignore[assignment]
    gc.disable()
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        inspect.getfile = getfile
        for name, stand_in in stand_ins.items():
            if name in sys.modules and sys.modules[name] is stand_in:
                del sys.modules[name]
        if collects:
            gc.enable()


def _remembered(look: Callable[[Any], Any]) -> Callable[..., Any]:
    known = functools.lru_cache(maxsize=1024)(look)

    def of(item: Any, **options: Any) -> Any:
        return known(item) if isinstance(item, FunctionType) and not options else look(item, **options)

    return of


def remember_signatures() -> None:
    """Let Gradio look at the signature of a function once: it does so for every component that it makes or updates.

    Three quarters of the time of an update goes there. Only Gradio's own modules see the remembering stand-in.
    """
    stand_in = ModuleType("inspect", inspect.__doc__)
    vars(stand_in).update(vars(inspect))
    vars(stand_in).update({name: _remembered(getattr(inspect, name)) for name in ("signature", "getfullargspec")})
    for name in ("gradio.blocks", "gradio.component_meta", "gradio.helpers", "gradio.utils"):
        module = sys.modules.get(name)
        if module is not None and vars(module).get("inspect") is inspect:
            vars(module)["inspect"] = stand_in


@contextlib.contextmanager
def laid_out_once() -> Iterator[None]:
    """While this lasts, a page that is laid out gets no web application of its own; `adopt` gives it the mounted one.

    Gradio makes one when a page is opened, closed and given a queue, and again when it is mounted; only the last is served.
    """
    from gradio.routes import App

    create = App.__dict__["create_app"]
    App.create_app = staticmethod(lambda *args, **options: None)  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        App.create_app = create  # type: ignore[method-assign]


class _TabConfigs:
    """Gives each open tab its own configuration of the page, which does not write down what it shows."""

    def __init__(self, config: Any):
        self._config = config

    def __copy__(self) -> Any:
        mine = copy.copy(self._config)
        mine.config_for_block = lambda *args, **options: {}
        return mine


def adopt(app: Any, page: Any) -> None:
    """Make the mounted application the page's own, so that queued and direct events share one memory of open tabs.

    Of each tab only what its components are is remembered. A copy of the whole page with all that it shows, a quarter of a
    megabyte and worked out anew for every component of every update, would serve Gradio's deep links alone, which this
    page does not have.
    """
    from gradio.routes import App

    page.app = next(route.app for route in app.routes if isinstance(getattr(route, "app", None), App))
    page.app.state_holder.blocks = SimpleNamespace(default_config=_TabConfigs(page.default_config), blocks={})
