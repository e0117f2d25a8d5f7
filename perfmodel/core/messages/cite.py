"""What ``cite`` prints."""

MESSAGES = {
    "cite.forms": "--json and --bibtex: give one of them",
}
