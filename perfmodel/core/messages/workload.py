"""Networks that are trained."""

MESSAGES = {
    "workload.sequence_length": "sequence length {sequence_length}: must be at least 1 token",
    "workload.no_sequences": "workload {name!r} takes no sequences; leave out the sequence length",
    "workload.no_images": "workload {name!r} has no option for images; leave out the image tokens",
    "workload.image_tokens_beyond": "{name}: {image_tokens} image tokens are more than the {sequence_length} "
    "tokens of a sample",
    "workload.whole_images": "{name}: {image_tokens} image tokens are no whole number of images; expected a "
    "multiple of {each}",
    "workload.modules": "{name} does not predict the next token; leave out the modules for further ones",
    "workload.too_long": "{name}: sequence length {sequence_length} is beyond its {limit} position "
    "embeddings",
}
