"""The report of all measured runs against predictions, section by section."""
