"""Learning rates of larger batches."""

MESSAGES = {
    "learning_rate.distance": "--distance-constant and --squared-distance go together; give both or neither",
    "learning_rate.overflow": "the learning rate overflows; are the batches in samples?",
}
