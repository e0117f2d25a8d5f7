"""Compression of gradients."""

MESSAGES = {
    "compression.not_possible": "--compression {compression}: {why}",
    "compression.no_parameter": "compression {text}: {name} takes no parameter",
    "compression.range": "compression {text}: expected {what} from {low:g} to {high:g} as its "
    "{parameter}, e.g. {usual}",
}
