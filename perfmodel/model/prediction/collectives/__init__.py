"""One collective on its own: on which fabric, by which algorithm, how far off."""
