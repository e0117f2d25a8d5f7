"""Failures and checkpoints."""

MESSAGES = {
    "failures.checkpoint_time": "--node-mtbf needs --checkpoint-time, e.g. 60s: how long one "
    "checkpoint takes; or --checkpoint-bandwidth, e.g. 2GB/s",
    "failures.never_ends": "the job fails more often than it can restart: it never ends",
    "failures.checkpoint_twice": "--checkpoint-time and --checkpoint-bandwidth: give one",
    "failures.interval": "{option} needs --node-mtbf, e.g. 6000h",
    "failures.time": "{option}: {time:g} s is not between {least:g} and {most:g} s",
}
