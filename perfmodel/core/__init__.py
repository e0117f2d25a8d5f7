"""The base of every other package: quantities, numbers, formulas, errors, records and files."""
