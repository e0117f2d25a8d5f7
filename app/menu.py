"""Which pages there are, in the order of the menu."""

PAGES = (
    ("predict", "Predict"),
    ("scale", "Scale"),
    ("transformers", "Transformers"),
    ("plan", "Plan"),
    ("quote", "Check a quote"),
    ("compare", "Compare"),
    ("sensitivity", "Sensitivity"),
    ("communication", "Communication"),
    ("stragglers", "Stragglers"),
    ("trace", "Trace"),
    ("validation", "Validation"),
    ("hardware", "Hardware"),
)
"""File below ``views`` and word in the URL -> title."""
