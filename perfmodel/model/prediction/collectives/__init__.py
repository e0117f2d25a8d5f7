"""One collective: its fabric, its algorithm, its time and interval."""
