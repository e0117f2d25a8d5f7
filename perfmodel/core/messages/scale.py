"""Numbers of accelerators to scale over."""

MESSAGES = {
    "scale.world_size": "world_size: say the numbers of accelerators as gpus, e.g. gpus=[1, 2, 4, 8]",
    "scale.gpus": "gpus = {gpus!r}: expected numbers of accelerators, e.g. [1, 2, 4, 8]",
    "scale.count": "gpus: {count!r} is not a whole number from 1 to {largest_world_size:,}",
}
