"""A file for each command: what it takes, what it does, and what people read of its answer."""
