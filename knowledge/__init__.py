"""What is known: facts, offers, passages, and how to search them."""
