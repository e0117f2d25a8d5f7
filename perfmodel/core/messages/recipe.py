"""Published recipes of training."""

MESSAGES = {
    "recipe.without_target": "--recipe goes with a target: leave out {option}",
    "recipe.of_mlperf": "--target {target} is MLPerf's: leave out --recipe {recipe}",
    "recipe.phases": "--recipe {chosen} of {workload} has {phases}; or `perfmodel plan --recipe mlperf`, "
    "which has one",
    "recipe.tokens": "--tokens goes with --recipe {tokens}, or with --cost",
    "recipe.unpublished": "--recipe {name}: {network}",
    "recipe.own_data": "{option} {asked}: a target was published for the network's own data; leave "
    "{option} out, or give --epochs",
    "recipe.none": "{network}; `perfmodel workloads recipes` lists all that was published",
    "recipe.unknown": "--recipe {name}: none is known for {benchmark}; known: {known}",
    "recipe.no_tokens": "--recipe {name}: {network} does not predict the next token, as e.g. llama-2-7b does",
    "recipe.no_target": "{said}",
}
