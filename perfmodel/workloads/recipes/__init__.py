"""Length of training to a target quality, in epochs or tokens, by published recipes."""
