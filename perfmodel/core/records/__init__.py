"""Frozen records with described fields, and the checks of what people write."""
