"""Collective operations and their ranks."""

MESSAGES = {
    "collective.not_on_links": "unknown {called} {name!r}; {right}",
    "collective.ranks_in_node": "{link} joins {most} ranks in a node, not {ranks}; spread them over nodes",
    "collective.no_inter_link": "{hosts} nodes need --inter-link",
    "collective.nvls": "nvls runs within one node, whose switch adds; over several nodes: nvls-tree",
    "collective.no_switch": "{algorithm} needs {needs_switch}; {link} is none",
    "collective.too_many_ranks": "{ranks} ranks do not fit {nodes} x {machine} of {accelerators}",
    "collective.uneven_ranks": "{ranks} ranks do not spread evenly over {nodes} nodes",
    "collective.no_link": "give --accelerator, --node, or --intra-link, the link between the ranks of a node",
    "collective.any_accelerator": "{node} takes any accelerator: give --accelerator or --intra-link",
    "collective.no_interval": "{algorithm} has no interval that a listing could narrow; leave {option} out",
    "collective.other_collective": "a listing of {listed}; --collective is {asked}",
    "collective.other_hosts": "the listing is of {listed} nodes, not {hosts}: give --nodes {listed}",
    "collective.other_ranks": "a listing of {listed} ranks; say --ranks {listed}",
    "collective.uneven_group": "{group_size} ranks do not spread evenly over {hosts} nodes",
}
