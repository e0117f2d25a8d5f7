"""What the functions of commands are called in Python."""

CALLED = {"workloads": "networks"}
"""Names of commands that are called as a package is."""


def function_name(name: str) -> str:
    """Return what the function of a command is called.

    >>> function_name("trace summary")
    'trace_summary'
    """
    return CALLED.get(name, name.replace("-", "_").replace(" ", "_"))
