"""Training steps of transformers under tensor, pipeline, context, expert and data parallelism."""
