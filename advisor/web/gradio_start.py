"""Gradio in half of its start-up time: what only its authors or its own launcher need is left out while it starts."""

from __future__ import annotations

import contextlib
import copy
import functools
import gc
import importlib
import inspect
import os
import ssl
import sys
import warnings
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import jinja2
import pydantic

HIDDEN = ("mcp", "httpx._main")
"""Modules that others import where they can, for functions that this page does not use."""
PUT_OFF: dict[str, tuple[str, ...]] = {
    "pandas": (),
    "gradio.cli": ("deploy",),
    "gradio.external": ("load", "load_chat", "load_openapi"),
    "gradio.workflow": ("Workflow",),
}
"""Modules that Gradio imports and that this page does not use; names that it takes out of them at once."""
IN_THREADS = ("gradio.data_classes", "gradio.components.chatbot", "gradio.components.plot")
"""Modules whose data models are used in several threads at once: they are complete before the first request."""


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


class _Documentation:
    """Stands for a Jinja template of a help text that nobody reads here: Gradio compiles two hundred of them."""

    def __init__(self, source: str):
        self._source = source

    def render(self, **_values: Any) -> str:
        """The text as it is written."""
        return self._source


@contextlib.contextmanager
def quick_import() -> Iterator[None]:
    """While this lasts, Gradio's modules are imported without their by-products.

    Left out: the interface file that Gradio writes beside the source of each of its components, which wants an
    installation that can be written to; help texts; certificates of the clients that Gradio makes for downloads (this page
    makes none, and a client without certificates refuses every address). Put off: validators of data models, until the first use.
    """
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    # FastAPI builds its own validators with this warning off; put off, they are built where it is on.
    warnings.filterwarnings("ignore", message="The 'alias' attribute with value 'body' was provided")
    stand_ins: dict[str, Any] = {name: None for name in HIDDEN if name not in sys.modules}
    for name, taken in PUT_OFF.items():
        if name not in sys.modules:
            stand_ins[name] = PutOff(name)
            vars(stand_ins[name]).update(dict.fromkeys(taken))

    with contextlib.ExitStack() as stack:
        getfile = inspect.getfile

        def getfile_elsewhere(item: Any) -> str:
            if isinstance(item, type) and item.__module__.startswith("gradio."):
                raise OSError("not asked while Gradio is imported")
            return getfile(item)

        stack.enter_context(_no_garbage())
        stack.enter_context(_instead(inspect, "getfile", getfile_elsewhere))
        stack.enter_context(_instead(jinja2, "Template", _Documentation))
        stack.enter_context(_instead(ssl.SSLContext, "load_verify_locations", lambda *args, **options: None))
        stack.enter_context(_instead(pydantic.BaseModel, "model_config", {"defer_build": True}))
        sys.modules.update(stand_ins)
        try:
            yield
        finally:
            for name, stand_in in stand_ins.items():
                if name in sys.modules and sys.modules[name] is stand_in:
                    del sys.modules[name]


@contextlib.contextmanager
def _instead(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = vars(owner).get(name, _ABSENT)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if before is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, before)


_ABSENT = object()


@contextlib.contextmanager
def _no_garbage() -> Iterator[None]:
    """What is made meanwhile stays: collecting garbage finds nothing, and need not look at it later."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.freeze()
            gc.enable()


def complete_models() -> None:
    """Complete the data models of `IN_THREADS` that `quick_import` has put off: two threads must not do it at once."""
    for name in IN_THREADS:
        for item in list(vars(sys.modules[name]).values()) if name in sys.modules else ():
            if isinstance(item, type) and issubclass(item, pydantic.BaseModel) and item is not pydantic.BaseModel:
                item.model_rebuild()


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


def leave_matplotlib() -> None:
    """Let Gradio not look for Matplotlib before and after every event: this page draws no figures with it."""
    from gradio import utils

    utils.MatplotlibBackendMananger = contextlib.nullcontext  # type: ignore[assignment, misc]


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
