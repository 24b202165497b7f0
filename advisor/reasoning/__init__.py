"""Pure reasoning over typed values: memory, speed, plans, recommendations. No input or output."""
