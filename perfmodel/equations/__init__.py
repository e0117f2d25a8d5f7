"""The formulas: plain numbers, arrays or symbols in, the same kind out."""
