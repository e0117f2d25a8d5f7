"""Networks that are trained."""

MESSAGES = {
    "workload.sequence_length": "sequence length {sequence_length}: must be at least 1 token",
    "workload.no_sequences": "workload {name!r} takes no sequences; leave out the sequence length",
    "workload.modules": "{name} does not predict the next token; leave out the modules for further ones",
    "workload.too_long": "{name}: sequence length {sequence_length} is beyond its {limit} position "
    "embeddings",
}
