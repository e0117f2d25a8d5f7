"""Kernels of a transformer, and what its memory keeps."""

MESSAGES = {
    "kept.module": "--recompute-modules {name}: known: {known}",
    "kept.recompute": "--recompute-modules are those of --recompute selective, not {recompute}",
    "kept.operations": "--recompute-modules: {software} recomputes single products, not modules",
    "kept.experts": "--recompute-modules moe, moe_act: the network has no experts",
    "kept.latent": "--recompute-modules mla_up_proj: the network has no latent attention",
    "kept.flash3": "--attention-kernel flash3: FlashAttention 3 needs Hopper or later; {accelerator} is not",
    "kept.host_weights": "--offload {offload} moves weights that replicas shard: it needs --sharding zero3",
    "kept.in_backward": "--optimizer {optimizer}: updates before the gradients of all {passes} micro-batches "
    "and stages are summed; it needs one micro-batch and one stage",
}
