"""Functions of ``import perfmodel`` that are no records yet, and answers of those that are: a module for each.

Each takes plain Python values and returns a typed answer; the command of its name parses, calls it, prints.
"""
