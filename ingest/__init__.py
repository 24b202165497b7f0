"""How knowledge gets in: document loaders, catalogue readers, reports."""
