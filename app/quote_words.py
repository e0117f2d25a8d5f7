"""What a quote may claim, as lists show it."""

from __future__ import annotations

QUANTITY_WORDS: dict[str, tuple[str, str]] = {
    "tokens_per_second": ("Throughput: tokens/s", "400,000"),
    "tokens_per_second_per_gpu": ("Throughput: tokens/s of a GPU", "3,000"),
    "images_per_second": ("Throughput: images/s", "40,000"),
    "images_per_second_per_gpu": ("Throughput: images/s of a GPU", "1,200"),
    "sequences_per_second": ("Throughput: sequences/s", "5,000"),
    "samples_per_second": ("Throughput: samples/s", "5,000"),
    "iteration_time": ("Time: of an iteration [s]", "400 ms"),
    "epoch_time": ("Time: of an epoch [s]", "12 min"),
    "time_to_train": ("Time: to train [s]", "8 h"),
    "days_to_train": ("Time: to train [days]", "21"),
    "scaling_efficiency": ("Scaling: efficiency [%]", "90 %"),
    "speedup": ("Scaling: speed-up", "56"),
    "all_reduce_bandwidth": ("Communication: bandwidth of an all-reduce [B/s]", "400 GB/s"),
    "bus_bandwidth": ("Communication: bus bandwidth [B/s]", "400 GB/s"),
    "algorithm_bandwidth": ("Communication: algorithm bandwidth [B/s]", "200 GB/s"),
    "model_flops_per_gpu": ("Arithmetic: of a GPU [FLOP/s]", "400 TFLOP/s"),
    "flops": ("Arithmetic: of the job [FLOP/s]", "5 PFLOP/s"),
    "mfu": ("Arithmetic: utilisation (MFU) [%]", "45 %"),
    "cost_per_million_tokens": ("Cost: of a million tokens [USD]", "0.50"),
    "cost_per_token": ("Cost: of a token [USD]", "5e-7"),
    "cost_to_train": ("Cost: to train [USD]", "2,000,000"),
}
"""Quantity -> its group, words and unit in lists, and an example of a value."""
QUANTITIES = tuple(QUANTITY_WORDS)


def quantity_words(quantity: str) -> str:
    """Return a quantity as a list shows it: with its group and unit."""
    return QUANTITY_WORDS[quantity][0]


def example(quantity: str) -> str:
    """Return an example of a value of a quantity."""
    return QUANTITY_WORDS[quantity][1]
