"""Optional packages that are not installed."""

MESSAGES = {
    "package.missing": "{what} needs {package}: pip install 'perfmodel[{extra}]'",
}
