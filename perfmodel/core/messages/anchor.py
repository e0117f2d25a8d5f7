"""Anchors: measured times that set the speed of one accelerator."""

MESSAGES = {
    "anchor.no_tokens": "anchor tokens_per_second: samples of this network are no sequences of tokens",
    "anchor.several": "anchor {text!r}: several runs are of transformers with a layout; of other "
    "networks, or for a sensitivity, write them to a file for `perfmodel calibrate --data`",
    "anchor.malformed": "anchor {text!r}: expected iteration_time=0.145s@1 or "
    "samples_per_second=220@1 (@ GPUs), or of a layout tokens_per_second=1e6@512,tensor_parallel=8",
    "anchor.gpus": "anchor {text!r}: expected a run on one accelerator (@1), or on several (@8), of "
    "at most {largest_world_size:,}",
    "anchor.range": "anchor {text!r}: expected {quantity} between {low:g} and {high:g}, in SI units",
    "anchor.and_profile": "--anchor and --profile: give one, both say how fast one accelerator is",
    "anchor.copies": "anchor {given!r}: copies of a network are measured by the options of the job "
    "itself; leave {known} out",
    "anchor.no_speed": "no speed of one {accelerator} leads to {measured:.3g} s on {world_size}; "
    "check the unit, the batch and the link",
    "anchor.one_accelerator": "anchor {anchor!r}: expected a run on one accelerator (@1) here",
    "anchor.and_profile_keys": "--anchor and --profile: give one, both say how fast one accelerator is",
}
