"""A whole training beside the step: to a target or loss, asynchronous, compressed."""
