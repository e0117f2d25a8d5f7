"""Measured runs to be diagnosed."""

MESSAGES = {
    "diagnose.measured": "{given!r}: neither a time (145ms), a rate (1234 tokens/s/gpu, 20k images/s), nor a "
    "file",
    "diagnose.no_unit": "{given!r}: without a unit: say {number}ms or {number}s for the time of a step, or "
    "for example {number} images/s",
    "diagnose.unit": "{given!r}: a rate of what? expected tokens/s, samples/s or images/s, with /gpu "
    "where it is that of one accelerator",
    "diagnose.log_format": "no speed of a step is in it. Instead of a file of another kind give the time or "
    "rate that it states, e.g. 400ms or 3000tok/s/gpu; known are logs of {known}, outputs of nccl-tests and "
    "rccl-tests, and profiler files",
    "diagnose.table_of_runs": "a table of measured runs: `perfmodel calibrate --data FILE` learns from it; "
    "of one run give its time or rate, or its log",
    "diagnose.log_empty": "leaving out {skip} of {count} lines leaves none with a speed",
    "diagnose.skip": "{option} {skip} is of a log or a trace: not of {what}",
    "diagnose.not_of_a_collective": "{option}: not of a listing of collectives, which has its own",
    "diagnose.collective": "the listing does not say which collective it timed: give {option}",
    "diagnose.not_a_listing": "{option}: is of a listing of nccl-tests",
    "diagnose.other_accelerator": "{mismatch}",
    "diagnose.ranks": "the listing does not say its ranks: give {option}",
    "diagnose.no_interval": "such a job has no interval, so nothing says whether a time is normal",
    "diagnose.gpus": "of {ranks} accelerators; --gpus {world_size}: leave it out, or say {ranks}",
    "diagnose.no_tokens": "{workload} has no tokens; give samples/s or a time",
}
