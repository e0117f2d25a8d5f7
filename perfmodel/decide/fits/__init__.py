"""Whether a job fits into memory, how sure that is, and what would make it fit."""
