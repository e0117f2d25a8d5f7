"""Commands as records, and the interfaces that are made from them."""
