"""The page: Gradio over the advisor; formatters are pure, and no advice is worked out here."""
