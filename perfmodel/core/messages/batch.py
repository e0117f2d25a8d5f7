"""Batch sizes."""

MESSAGES = {
    "batch.exclusive": "--local-batch-size and --global-batch-size: give one, the other follows",
    "batch.indivisible": "a global batch of {whole} does not divide over {over}; {known} would",
    "batch.micro_and_local": "--micro-batch-size and --local-batch-size: give one, they are the same here",
    "batch.replicas": "a global batch of {whole} does not divide over {data} replicas{each}",
    "batch.passes": "{data} replicas x {steps} passes of {micro} are {parts} samples, not {whole}",
    "batch.exclusive_keys": "--local-batch-size and --global-batch-size: give one, the other follows",
}
