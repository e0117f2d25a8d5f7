"""What a prediction is for: sweeps, plans, comparisons, quotes, costs, explanations."""
