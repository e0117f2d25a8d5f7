"""Commands that start a plan."""

MESSAGES = {
    "launch.strategy": "torchrun: the plan chosen is {way}; torchrun starts --strategy all-reduce "
    "with --algorithm {known}",
    "launch.machine": "torchrun: the plan chosen is {where}; torchrun starts PyTorch on GPUs",
}
