"""How long a network trains until it is good: epochs or tokens, by published recipe."""
