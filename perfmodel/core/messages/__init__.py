"""Messages of all problems, a table for each subject, the first word of a problem's code."""
