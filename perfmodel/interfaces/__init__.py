"""Commands as records, and what makes every interface of them."""
