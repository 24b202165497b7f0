"""Answers without picks or sources: refusals, greetings, questions back."""

from __future__ import annotations

from typing import Any

from advisor.answer import Answer
from advisor.messages import catalogue, text


def refuse(reading: Any) -> Answer:
    """Decline politely and steer back."""
    acts = reading.acts
    kind = "harmful" if "harmful" in acts else "instructions" if "injection" in acts else "off_topic"
    return _answer(reading, "refuse", text(f"writing.refuse.{kind}", reading.answer_lang))


def clarify(reading: Any) -> Answer:
    """Greet, thank, or ask for what the answer turns on."""
    lang = reading.answer_lang
    if "thanks" in reading.acts:
        return _answer(reading, "clarify", text("writing.thanks", lang))
    if "greeting" in reading.acts:
        return _answer(reading, "clarify", text("writing.greeting", lang))
    asked = questions_back(reading)
    if asked:
        return _answer(reading, "clarify", text("writing.clarify.asked", lang, items=asked))
    items = text("writing.clarify.default", lang)
    return _answer(reading, "clarify", text("writing.clarify", lang, items=items))


def questions_back(reading: Any) -> str:
    """The questions back as words, or an empty string."""
    lang = reading.answer_lang
    words = [text(f"reading.ask.{key}", lang) for key in reading.questions_back if f"reading.ask.{key}" in catalogue()]
    return (" " if lang == "en" else "").join(words)


def _answer(reading: Any, intent: Any, words: str) -> Answer:
    return Answer(
        lang=reading.answer_lang,
        intent=intent,
        text=words,
        workload=reading.workload,
        constraints=reading.constraints,
        fx=reading.fx,
    )
