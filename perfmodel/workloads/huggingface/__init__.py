"""Reads the architecture of a transformer from the values of a Hugging Face config.json."""
