"""Measured collectives: read, predicted, fitted to, left out."""
