"""Where a measured collective or training run lies, what may slow it, and what to measure next."""
