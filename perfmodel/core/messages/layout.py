"""Layouts of transformers."""

MESSAGES = {
    "layout.notation": "--against {text!r}: expected options and values, e.g. "
    "tensor_parallel=8,sharding=zero1, or a layout as tables print it, e.g. 'tp8 pp4 dp2 zero1, 2 x 16'",
    "layout.replicas": "--against {text!r}: dp{stated}, but the other degrees leave dp{left} on {gpus} GPUs",
    "layout.no_machine": "give --node or --accelerator, e.g. --node dgx-h100",
    "layout.sums": "{option}{value} is of a layout, whose gradients {known} sums, not --strategy "
    "{strategy}: leave one of them out",
    "layout.fsdp_sharding": "--strategy fsdp is --sharding zero3, not {sharding}",
    "layout.micro_batch": "--micro-batch-size: that is of a layout, {layouts}; without one the "
    "batch of a GPU is --local-batch-size",
    "layout.only": "{option}{value} goes with a layout, {layouts}",
    "layout.no_architecture": "{option}{value}: {workload} is no transformer whose architecture and tokens "
    "are known, e.g. llama-3-8b",
    "layout.indivisible": "--tensor-parallel x --pipeline-parallel x --context-parallel = {replica} "
    "does not divide {world_size} GPUs",
    "layout.indivisible_copies": "--tensor-parallel x --pipeline-parallel x --context-parallel x "
    "--expert-parallel = {replica} does not divide {world_size} GPUs: ranks of this software with other "
    "experts compute the same tokens",
    "layout.stages": "--pipeline-parallel {stages} x --virtual-stages {chunks} is more than {layers} layers",
    "layout.chunks": "--virtual-stages: {accumulation_steps} micro-batches do not divide by {stages} stages",
    "layout.interleaved": "--schedule interleaved needs --virtual-stages of 2 or more",
    "layout.schedule_chunks": "--virtual-stages: --schedule {schedule} has chunks of its own; leave one out",
    "layout.dualpipe": "--schedule dualpipe needs an even number of stages, here {stages}, and of "
    "micro-batches, at least {least}, here {steps}",
    "layout.shard_group": "--shard-group {group} does not divide data x context parallelism, {replicas}",
    "layout.shard_experts": "--shard-group {group} and --expert-parallel {experts}: one must divide "
    "the other",
    "layout.context_inner": "--context-inner {inner}: a nested exchange of {context} context-parallel ranks "
    "needs a divisor of {context} between 1 and {context}",
    "layout.ulysses": "--context-method {method}: {inner} ranks cannot exchange the {heads} heads of a "
    "tensor-parallel rank; the most is {most}",
    "layout.no_experts": "{name}: the network has no experts",
    "layout.experts": "--expert-parallel {expert_parallel} x --expert-tensor-parallel "
    "{expert_tensor_parallel} does not divide the {ranks} GPUs of a stage, which share the experts",
    "layout.lora": "--lora {rank}: the most is {hidden}, the features of a layer; 8 to 64 are usual",
    "layout.lora_targets": "--lora-targets {name}: known: {known}; also attention, mlp, all",
    "layout.lora_gate": "--lora-targets gate: the network's feed-forward parts have no gate",
    "layout.frozen": "--frozen-weights {stored}: weights that are trained are not quantized; freeze them by "
    "--lora RANK",
    "layout.documents": "--document-length: {workload} has an encoder and a decoder, whose documents are not "
    "packed",
    "layout.degree": "{name} {degree} does not divide {whole} {what}",
    "layout.copies": "{workload}: replicas of the whole network are trained; there is no layout",
    "layout.no_transformer": "{workload} is no transformer whose architecture is known; try llama-3-8b",
    "layout.micro_batches": "{micro_batches} micro-batches do not divide by {stages} stages of "
    "several chunks",
    "layout.too_long": "a schedule of {micro_batches} micro-batches on {stages} stages of {chunks} "
    "chunks is too long to draw; up to {most_blocks:,} passes are",
    "layout.none": "no layout of {name} on {gpus} accelerators: {rejected}",
    "layout.too_few": "no layout of {name} fits {gpus} x {chip}: the least needs {least} of {most}; "
    "{enough} are enough: {layout} takes {time} a step",
    "layout.no_memory": "no layout of {name} fits {gpus} x {chip}: the least needs {least} of {most}; "
    "take more accelerators, or a smaller batch or sequence",
}
