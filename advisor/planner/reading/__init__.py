"""Reading: a turn of the conversation, in Japanese or English, turned into a job, conditions, an intent and what was named."""

from advisor.planner.reading.lexicon import Lexicon, load_lexicon
from advisor.planner.reading.reader import read
from advisor.planner.reading.result import GpuMention, Mentions, Premise, Quantity, Reading

__all__ = ["GpuMention", "Lexicon", "Mentions", "Premise", "Quantity", "Reading", "load_lexicon", "read"]
