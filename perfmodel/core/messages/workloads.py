"""Lists of networks."""

MESSAGES = {
    "workloads.recipes": "{field}: goes without recipes; word leaves those of one network",
    "workloads.sequence_length": "sequence_length goes with name, of one network",
}
