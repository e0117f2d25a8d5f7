"""Measured runs of transformers: read, predicted, fitted to, left out."""
