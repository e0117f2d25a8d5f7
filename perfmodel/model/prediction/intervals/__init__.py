"""Intervals of predictions, and the conditions that make them wider or narrower."""
