"""Learn from measured runs what the equations leave out, and how far to trust the result."""
