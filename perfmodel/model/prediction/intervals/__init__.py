"""How far off a prediction may be, and what makes it wider or narrower."""
