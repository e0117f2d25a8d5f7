"""The app as a person sees it: drawn by a real browser."""
