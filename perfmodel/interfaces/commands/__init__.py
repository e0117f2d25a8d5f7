"""A file per command: its options, its action, and its text for people."""
