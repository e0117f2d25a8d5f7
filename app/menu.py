"""Which pages there are, in the order of the menu."""

PAGES = (
    ("predict", "Predict"),
    ("scale", "Scale"),
)
"""File below ``pages`` and word in the URL -> title."""
