"""What one iteration takes: its terms, and the one evaluation that every answer comes from."""
