"""The built-in model: reading, planning, writing."""
