"""What the model knows and how well: measured runs, fits, leave-out tests, traces."""
