"""A closed-form performance model of distributed deep-learning training."""
