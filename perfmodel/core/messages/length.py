"""Length of a job: epochs, samples, tokens or a target."""

MESSAGES = {
    "length.no_tokens": "--tokens: a sample of {name} has none; give --samples or --epochs",
    "length.deadline": "--deadline: say how long a run is, by --run-time, --epochs, --samples or --tokens",
    "length.and_target": "{option} and --target: give one; a target says itself how long the run is",
    "length.no_target": "--epochs or --samples: give one; epochs to a target are published for "
    "{with_target}, not {workload}",
    "length.no_tokens_given": "--tokens or --samples: give one; only training all weights of {workload}, "
    "without a target, has a usual number of tokens",
    "length.both": "--epochs and --samples: give one; --samples are those of the whole run",
    "length.several": "--epochs, --samples and --tokens: give one; the last two are those of the whole run",
    "length.unknown_data_set": "--epochs: the size of {workload}'s data set is not known; "
    "give --samples instead, those of the whole run",
}
