"""Machines and their accelerators."""

MESSAGES = {
    "machine.unusual": "{called} has no usual machine: give --node, e.g. {node} ({machine}), which takes any "
    "accelerator",
    "machine.nics": "--nics {nics}: {node} has {own}; expected at most {most}, {nics_of_accelerator} "
    "for each accelerator",
    "machine.no_usual": "{called} has no usual machine, and this needs the network between several: give "
    "--node, e.g. {node} ({machine}), which takes any accelerator",
    "machine.no_network": "{node} holds {accelerators}, and its network to further machines is "
    "unknown: give --inter-link, e.g. ib-hdr-200g",
    "machine.socket_link": "{option} {link}: joins the processors of a node, whose spec names it as "
    "socket_link",
    "machine.any_accelerator": "{node} takes any accelerator: name those to try with --accelerator",
    "machine.accelerators_per_node": "--accelerators-per-node {held}: {node} has {accelerators}; "
    "give at most that, or a larger --node",
    "machine.none": "{said}",
}
