"""The page's own Blocks: what Gradio works out for every update of every component, done once or not at all."""

from __future__ import annotations

from typing import Any

import gradio as gr
from gradio.components.base import _Keywords
from gradio.utils import is_prop_update


class PageBlocks(gr.Blocks):
    """Blocks whose private events send their updates as they are given.

    Gradio makes a new component for every update of every output, keeps it for the tab, and looks through all values for
    files to copy into its cache. This page's handlers give plain values, no files, and no event reads a component's
    properties again, so only the value is brought into the component's own form. Public endpoints go Gradio's way.
    """

    async def postprocess_data(self, block_fn: Any, predictions: Any, state: Any) -> list[Any]:
        """What is sent to the browser for each output, in their order. Raises ValueError where the counts differ."""
        if block_fn.api_visibility != "private" or state is None or block_fn.is_validator_function:
            return await super().postprocess_data(block_fn, predictions, state)
        count = len(block_fn.outputs)
        values = [predictions] if count == 1 else predictions if count else []
        sent: list[Any] = []
        for block, value in zip(block_fn.outputs, values, strict=True):
            if value is _Keywords.FINISHED_ITERATING:
                sent.append(None)
            elif block.stateful:
                if not is_prop_update(value):
                    state[block._id] = value
                sent.append(None)
            elif is_prop_update(value):
                update = dict(value)
                if "value" in update:
                    update["value"] = _in_form(block, update["value"])
                sent.append(update)
            else:
                sent.append(_in_form(block, value))
        return sent

    def handle_streaming_diffs(self, block_fn: Any, data: list[Any], *args: Any, **options: Any) -> list[Any]:
        """What changed since the last step. The end of a stream changes nothing: the browser has all of it by then."""
        found = super().handle_streaming_diffs(block_fn, data, *args, **options)
        if options.get("final") and block_fn.api_visibility == "private":
            return [gr.skip() for _ in found]
        return found

    def get_state_ids_to_track(self, block_fn: Any, state: Any) -> tuple[list[int], list[Any]]:
        """No event of this page waits for a change of a state, so none is compared before and after every event."""
        return [], []


def _in_form(block: Any, value: Any) -> Any:
    formed = block.postprocess(value)
    return formed.model_dump() if hasattr(formed, "model_dump") else formed
