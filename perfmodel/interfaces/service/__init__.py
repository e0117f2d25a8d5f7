"""The HTTP service: every command that answers, under limits that a stranger cannot pass."""
