"""The built-in networks, each built layer by layer."""
