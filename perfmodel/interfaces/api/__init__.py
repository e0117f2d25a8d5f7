"""What ``import perfmodel`` offers besides ``predict`` and ``sweep``: a module for each function.

Each takes plain Python values and returns a typed answer; the command of its name parses, calls it, prints.
"""
