"""Gradio's quick start: what is left out comes back, what is put off is there when it is used."""

import gc
import inspect
import sys
from types import SimpleNamespace

import pytest
from fake_advisor import FakeAdvisor

from advisor.settings import Settings
from advisor.web import gradio_start
from advisor.web.gradio_start import PutOff, laid_out_once, quick_import
from advisor.web.server import create_app


class Component:
    """A class that says it is Gradio's."""

    __module__ = "gradio.components.made_up"


def test_interface_files_are_left_out_for_gradio_only_and_only_meanwhile():
    with quick_import():
        with pytest.raises(OSError, match="Gradio"):
            inspect.getfile(Component)
        assert inspect.getfile(PutOff).endswith("gradio_start.py")
        assert not gc.isenabled()
    assert gc.isenabled() and inspect.getfile(PutOff).endswith("gradio_start.py")


def test_everything_is_put_back_after_an_error():
    getfile, modules = inspect.getfile, set(sys.modules)
    with pytest.raises(ZeroDivisionError), quick_import():
        _ = 1 / 0
    assert inspect.getfile is getfile and gc.isenabled() and set(sys.modules) == modules


def test_hidden_modules_cannot_be_imported_meanwhile_and_can_after(monkeypatch):
    monkeypatch.setattr(gradio_start, "HIDDEN", ("wave",))
    monkeypatch.delitem(sys.modules, "wave", raising=False)
    with quick_import(), pytest.raises(ImportError):
        import wave
    import wave

    assert wave.open


def test_a_module_put_off_is_imported_when_something_of_it_is_used(monkeypatch):
    monkeypatch.setattr(gradio_start, "PUT_OFF", {"wave": ("taken",)})
    monkeypatch.delitem(sys.modules, "wave", raising=False)
    with quick_import():
        import wave as held

        assert isinstance(held, PutOff) and held.taken is None
    assert "wave" not in sys.modules
    assert held.open is sys.modules["wave"].open
    with pytest.raises(AttributeError):
        _ = held.no_such_name


def test_a_module_that_is_there_already_is_left_alone(monkeypatch):
    monkeypatch.setattr(gradio_start, "PUT_OFF", {"json": ()})
    there = sys.modules["json"]
    with quick_import():
        assert sys.modules["json"] is there
    assert sys.modules["json"] is there


def test_a_page_laid_out_gets_no_application_of_its_own():
    import gradio as gr

    with laid_out_once(), gr.Blocks(analytics_enabled=False) as page:
        gr.Textbox()
    assert page.app is None
    with gr.Blocks(analytics_enabled=False) as page:
        gr.Textbox()
    assert page.app is not None


def test_queued_and_direct_events_share_one_memory_of_open_tabs(tmp_path):
    from gradio.routes import App

    settings = Settings(home=tmp_path)
    app = create_app(FakeAdvisor(settings), settings)
    mounted = next(route.app for route in app.routes if isinstance(getattr(route, "app", None), App))
    page = mounted.get_blocks()
    assert page.app is mounted and page.state_holder is mounted.state_holder
    assert mounted.state_holder.capacity == page.state_session_capacity == 300


def test_a_new_tab_is_remembered_without_a_copy_of_the_page(tmp_path):
    from gradio.routes import App

    settings = Settings(home=tmp_path)
    app = create_app(FakeAdvisor(settings), settings)
    mounted = next(route.app for route in app.routes if isinstance(getattr(route, "app", None), App))
    tab = mounted.state_holder["one"]
    assert tab.config_values == {} and tab.blocks_config.fns == mounted.get_blocks().fns
    number, state = next((n, b) for n, b in tab.blocks_config.blocks.items() if b.get_block_name() == "state")
    tab[number] = b"mine"
    shown = next(n for n, b in tab.blocks_config.blocks.items() if b.get_block_name() == "html")
    tab._update_value_in_config(shown, "x" * 1000)
    tab._update_config(shown)
    assert "x" * 1000 not in str(tab.config_values)
    assert len(mounted.get_blocks().get_config_file()["components"]) > 100
    assert tab[number] == b"mine" and mounted.state_holder["other"][number] == state.value


def test_the_advisor_waits_for_the_page():
    import asyncio

    from advisor.web.server import Opening

    order = []

    async def live(scope, receive, send):
        order.append("served")

    live.router = SimpleNamespace(lifespan_context=lambda app: Lifespan())

    class Lifespan:
        async def __aenter__(self):
            order.append("lifespan")

        async def __aexit__(self, *_):
            order.append("ended")

    async def run():
        done = asyncio.Event()
        opening = Opening(lambda: order.append("made") or live, lambda: (order.append("opened"), done.set()))
        asks = iter(["lifespan.startup", "lifespan.shutdown"])

        async def receive():
            kind = next(asks)
            if kind == "lifespan.shutdown":
                await done.wait()
            return {"type": kind}

        async def send(message):
            return None

        await opening({"type": "lifespan"}, receive, send)

    asyncio.run(run())
    assert order == ["made", "lifespan", "opened", "ended"]


def test_signatures_are_looked_at_once_and_only_gradio_sees_that():
    import gradio as gr
    import gradio.component_meta as meta

    gradio_start.remember_signatures()
    gradio_start.remember_signatures()
    assert meta.inspect is not inspect and meta.inspect.getfile is inspect.getfile
    first = meta.inspect.signature(gr.Textbox.__init__)
    assert first == inspect.signature(gr.Textbox.__init__) and meta.inspect.signature(gr.Textbox.__init__) is first
    assert meta.inspect.getfullargspec(gr.Textbox.__init__).args == inspect.getfullargspec(gr.Textbox.__init__).args
    bound = Component().__init__
    assert meta.inspect.signature(bound) is not meta.inspect.signature(bound)


def test_updates_still_take_their_arguments(tmp_path):
    import gradio as gr

    gradio_start.remember_signatures()
    with gr.Blocks(analytics_enabled=False):
        box = gr.Textbox("value", label="name", lines=3)
        other = gr.Dropdown(["a"], label="other")
    assert (box.value, box.label, box.lines) == ("value", "name", 3)
    assert box.constructor_args["label"] == "name" and other.constructor_args["choices"] == ["a"]


def test_certificates_help_texts_and_validators_are_as_ever_afterwards():
    import ssl

    import jinja2
    from pydantic import BaseModel

    with quick_import():
        assert jinja2.Template("{{ a }}").render(a=1) == "{{ a }}"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations("certificates that are not there")
        assert not context.get_ca_certs() and context.verify_mode == ssl.CERT_REQUIRED  # it refuses every server

        class Meanwhile(BaseModel):
            n: int

        assert not Meanwhile.__pydantic_complete__

    class Afterwards(BaseModel):
        n: int

    assert jinja2.Template("{{ a }}").render(a=1) == "1"
    assert Afterwards.__pydantic_complete__ and Meanwhile(n="2").n == 2
    with pytest.raises(OSError):
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations("certificates that are not there")


def test_models_that_threads_share_are_complete_before_they_are_served(monkeypatch):
    from types import ModuleType

    from pydantic import BaseModel

    with quick_import():

        class Shared(BaseModel):
            n: int

    held = ModuleType("held_models")
    held.Shared, held.other = Shared, 3
    monkeypatch.setitem(sys.modules, "held_models", held)
    monkeypatch.setattr(gradio_start, "IN_THREADS", ("held_models", "not_imported"))
    gradio_start.complete_models()
    assert Shared.__pydantic_complete__
