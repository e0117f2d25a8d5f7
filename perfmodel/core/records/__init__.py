"""Frozen records with described fields, and the checks of input that fills them."""
