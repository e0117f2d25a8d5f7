"""Machines and their accelerators."""

MESSAGES = {
    "machine.unusual": "{accelerator} has no usual machine: give --node",
    "machine.nics": "--nics {nics}: {node} has {own}; expected at most {most}, {nics_of_accelerator} "
    "for each accelerator",
    "machine.no_usual": "{accelerator} has no usual machine, and this needs the network between "
    "several: give --node ({generic_node} takes any accelerator), or usual_node in a spec of your own",
    "machine.no_network": "{node} holds {accelerators}, and its network to further machines is "
    "unknown: give --inter-link, e.g. ib-hdr-200g",
    "machine.socket_link": "{option} {link}: joins the processors of a node, whose spec names it as "
    "socket_link",
    "machine.any_accelerator": "{node} takes any accelerator: name those to try with --accelerator",
    "machine.accelerators_per_node": "--accelerators-per-node {held}: {node} has {accelerators}; "
    "give at most that, or a larger --node",
    "machine.none": "{said}",
}
