"""Embedding tables."""

MESSAGES = {
    "tables.none": "--embedding sharded: {workload} has no tables to shard; expected a "
    "recommender, e.g. dlrm",
    "tables.strategy": "--embedding sharded goes with --strategy all-reduce, not {strategy}; "
    "replicated goes with all",
    "tables.alone": "--embedding sharded: {workload} has no other parameters than its tables",
}
