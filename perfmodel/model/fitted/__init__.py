"""Learned and assumed numbers, each with its source, and what own runs move of them."""
