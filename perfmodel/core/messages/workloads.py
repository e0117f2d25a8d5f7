"""Lists of networks."""

MESSAGES = {
    "workloads.recipes": "{option}: goes without --recipes; --word leaves those of one network",
    "workloads.word": "--word goes with the list of networks, not with --name, of one network",
    "workloads.image_tokens": "--image-tokens goes with --name, of one network",
    "workloads.sequence_length": "--sequence-length goes with --name, of one network",
}
