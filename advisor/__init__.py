"""The conversation: reading a question, calling the tools, writing the answer."""
