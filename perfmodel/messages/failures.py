"""Failures and checkpoints."""

MESSAGES = {
    "failures.checkpoint_time": "--node-mtbf needs --checkpoint-time, e.g. 60s: how long one checkpoint "
    "takes; or --checkpoint-bandwidth, e.g. 2GB/s",
}
