"""Frameworks and what they can do."""

MESSAGES = {
    "software.shards": "--framework {text}: its files say that {known}",
    "software.no_transformers": "--framework {text}: it trains no transformers such as {workload}; "
    "{default_for_layouts}, {default}, fsdp and nemo do",
    "software.only_transformers": "{option}{value}: it trains transformers alone, which {workload} is not; "
    "{default}, tensorflow and mxnet train it",
    "software.precision": "--precision {precision}: under a layout {software} is known to train in {known}",
    "software.not_with": "{option} {scenario} does not go with {software}: {why}",
    "software.optimizer": "--optimizer {optimizer}: under a layout {software} is known to train with {known}",
    "software.year": "--framework {text}: expected a year after @, e.g. {name}@2020",
    "software.circle": "{chain}: based_on = {software!r} leads back to itself",
}
