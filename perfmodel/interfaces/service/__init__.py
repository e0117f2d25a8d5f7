"""The HTTP service: the commands, with limits that clients cannot exceed."""
