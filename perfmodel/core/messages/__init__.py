"""The sentences of every problem, a table for each subject: the first word of a code."""
