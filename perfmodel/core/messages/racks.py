"""Racks of machines."""

MESSAGES = {
    "racks.oversubscription": "--oversubscription {oversubscription:g}: expected 1 to 1,000, e.g. 4",
    "racks.missing": "--oversubscription needs --rack-nodes, the nodes under one switch",
    "racks.one_node": "--algorithm {algorithm} goes among peers of one node; on {groups} take ring "
    "or hierarchical",
    "racks.needed": "--algorithm {algorithm} needs --rack-nodes, the nodes of a rack; without racks "
    "take hierarchical",
    "racks.placement": "--algorithm {algorithm} goes rack by rack; --placement {placement} does not",
    "racks.uneven": "--rack-nodes {rack_nodes}: {machines} nodes do not fill such racks alike, as "
    "--algorithm {algorithm} needs; {known} would",
}
