"""The time and memory of one iteration: its terms, and the one evaluation behind every answer."""
