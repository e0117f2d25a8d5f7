"""Inputs of a fit."""

MESSAGES = {
    "fit.nothing": "nothing to learn from: no run of trust A or B on one accelerator that states a "
    "known accelerator and network, a batch, a precision and a time; `perfmodel validate --data` names "
    "what each run lacks",
    "fit.not_collectives": "{option} {value}: not with --collectives: {why}",
    "fit.no_nccl_tests": "not the output of an nccl-tests program",
    "fit.no_all_reduce": "{collective}; expected all_reduce_perf",
    "fit.gpus": "{ranks} ranks; --gpus {world_size}: leave it out, or say {ranks}",
    "fit.one_rank": "one rank has no network; say --gpus and --node as they were measured",
    "fit.no_large": "no message of {least_bytes:g} MB or more, whose time is the network's",
}
