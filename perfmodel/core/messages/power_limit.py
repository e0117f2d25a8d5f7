"""Limit on the power of a plan."""

MESSAGES = {
    "power_limit.unknown": "--power-limit {most}: no plan's power is known; the catalogue has no "
    "rated power of {names}",
    "power_limit.too_low": "--power-limit {most}: the least that a plan draws is {least}",
}
