"""What everything else stands on: quantities, numbers, formulas, errors, records and files."""
