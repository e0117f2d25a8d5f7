"""Numbers that remember how they were made: for explanations and exact derivatives."""
