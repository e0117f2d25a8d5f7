"""Functions of ``import perfmodel`` without a record, and answers of those with one: a module for each.

Each takes plain Python values and returns a typed answer; the command of its name parses, calls it, prints.
"""
