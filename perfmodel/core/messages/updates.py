"""Update strategies of workers: asynchronous, K-sync, local SGD."""

MESSAGES = {
    "updates.backups_of": "--backups goes with backup, not {variant}",
    "updates.backups_range": "--backups {backups:g}: of {workers} workers 0 to {most} can be backups",
    "updates.k_and_backups": "--k and --backups: give one, the other follows",
    "updates.server_time_of": "--server-time goes with async, k-batch-async and elastic, not {name}",
    "updates.adaptive": "--adaptive chooses K and local steps of synchronous SGD itself: leave "
    "{option} out, or leave --adaptive out",
    "updates.interval": "--interval goes with --adaptive, which chooses anew after each",
    "updates.convolved": "{gradients} gradients per update: counts are convolved up to "
    "{largest_count} for {distribution}",
    "updates.workers": "--workers must be a whole number, the sum over their classes, not {workers}",
    "updates.negative": "--communication-time and --server-time must be at least 0 s",
    "updates.local_steps": "--local-steps must be a whole number of at least 1, not {local_steps}",
    "updates.no_local_steps": "{variant} takes no --local-steps; local-sgd and elastic do",
    "updates.no_barrier": "{variant} has no barrier: put its communication into the distribution",
    "updates.no_server_time": "{variant} takes no --server-time; async, k-batch-async and elastic do",
    "updates.classes": "{variant}: workers that differ are known for sync, k-sync, backup, async only",
    "updates.negative_times": "{law}: more than 1 in 1,000 times is negative; take lognormal or gamma",
    "updates.fixed_k": "{variant} with {workers} workers has --k {fixed}, not {k}",
    "updates.k_missing": "{variant} needs --k, the gradients an update waits for",
    "updates.k_whole": "--k must be a whole number of at least 1, not {k}",
    "updates.k_range": "{variant} waits for different workers: --k {k} of {workers} cannot be; at most "
    "{workers}, or a batch variant, is right",
    "updates.no_mean": "{law} has no mean; a tail exponent above 1 has one",
    "updates.learning_rate": "--learning-rate {learning_rate:g}: expected a number above 0, at most 1",
    "updates.adaptive_mean": "--adaptive: {distribution} has no mean to count gradients by",
    "updates.interval_range": "--interval {span:g}: expected a time above 0, at most {longest:g} s",
    "updates.strategy": "{option} goes with --strategy {with_it}; not {strategy}",
    "updates.k": "--k {k}: {strategy} waits for different workers, of which there are {workers}; "
    "give at most {workers}, or a batch variant",
    "updates.backups": "--backups {backups}: of {workers} workers at most {most} can be backups",
}
