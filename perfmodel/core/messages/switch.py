"""Switches of a network."""

MESSAGES = {
    "switch.ports_whole": "--switch-ports {of_link}{count:g}: expected a whole number, at least 2",
    "switch.ports": "--switch-ports {each}: expected at least 2",
    "switch.levels": "{ports:,} ports are more than three levels of switches with {each} ports join",
}
