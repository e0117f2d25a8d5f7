"""Names of the published transformers, separate from their data so that no file is read for them.

Each table is from a family's file in ``architectures/`` to its networks, smallest first.
"""

ENCODERS: dict[str, tuple[str, ...]] = {
    "bert": ("bert-base", "bert-large"),
    "distilbert": ("distilbert",),
    "transformer": ("transformer-big",),
    "t5": ("t5-small", "t5-base", "t5-large", "t5-3b", "t5-11b"),
    "t5-v1.1": ("t5-v1.1-small", "t5-v1.1-base", "t5-v1.1-large", "t5-v1.1-xl", "t5-v1.1-xxl"),
}
"""Encoders, and encoders with a decoder, over tokens."""

GPT: dict[str, tuple[str, ...]] = {
    "gpt2": ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"),
    "gpt3": (
        "gpt3-125m",
        "gpt3-350m",
        "gpt3-760m",
        "gpt3-1.3b",
        "gpt3-2.7b",
        "gpt3-5b",
        "gpt3-6.7b",
        "gpt3-13b",
        "gpt3-20b",
        "gpt3-175b",
    ),
    "megatron": (
        "megatron-1.7b",
        "megatron-3.6b",
        "megatron-7.5b",
        "megatron-18b",
        "megatron-22b",
        "megatron-39b",
        "megatron-76b",
        "megatron-145b",
        "megatron-310b",
        "megatron-530b",
        "megatron-1t",
    ),
    "mt-nlg": ("mt-nlg-530b",),
    "palm": ("palm-8b", "palm-62b", "palm-540b"),
    "opt": ("opt-125m", "opt-1.3b", "opt-2.7b", "opt-6.7b", "opt-13b", "opt-30b", "opt-66b", "opt-175b"),
    "bloom": ("bloom-560m", "bloom-1b1", "bloom-1b7", "bloom-3b", "bloom-7b1", "bloom-176b"),
    "gpt-neo": ("gpt-neo-125m", "gpt-neo-1.3b", "gpt-neo-2.7b"),
    "gpt-j": ("gpt-j-6b",),
    "gpt-neox": ("gpt-neox-20b",),
    "pythia": (
        "pythia-70m",
        "pythia-160m",
        "pythia-410m",
        "pythia-1b",
        "pythia-1.4b",
        "pythia-2.8b",
        "pythia-6.9b",
        "pythia-12b",
    ),
    "falcon": ("falcon-7b", "falcon-40b", "falcon-180b"),
    "mpt": (
        "mpt-125m",
        "mpt-350m",
        "mpt-760m",
        "mpt-1b",
        "mpt-3b",
        "mpt-7b",
        "mpt-13b",
        "mpt-30b",
        "mpt-70b",
    ),
    "nemotron-4": ("nemotron-4-15b", "nemotron-4-340b"),
}
"""Decoders like GPT-2: LayerNorm, positions of every kind."""

LLAMA: dict[str, tuple[str, ...]] = {
    "llama": ("llama-7b", "llama-13b", "llama-33b", "llama-65b"),
    "llama-2": ("llama-2-7b", "llama-2-13b", "llama-2-70b"),
    "llama-3": (
        "llama-3.2-1b",
        "llama-3.2-3b",
        "llama-3-8b",
        "llama-3.1-8b",
        "llama-3-70b",
        "llama-3.1-70b",
        "llama-3.1-405b",
    ),
    "llama-4": ("llama-4-scout", "llama-4-maverick"),
    "mistral": ("mistral-7b",),
    "mixtral": ("mixtral-8x7b", "mixtral-8x22b"),
    "grok": ("grok-1",),
    "deepseek": ("deepseek-v2-lite", "deepseek-v2", "deepseek-v3", "deepseek-v3.2"),
    "kimi": ("kimi-linear-48b-a3b", "kimi-k2"),
    "qwen2.5": (
        "qwen2.5-0.5b",
        "qwen2.5-1.5b",
        "qwen2.5-3b",
        "qwen2.5-7b",
        "qwen2.5-14b",
        "qwen2.5-32b",
        "qwen2.5-72b",
    ),
    "qwen3": (
        "qwen3-0.6b",
        "qwen3-1.7b",
        "qwen3-4b",
        "qwen3-8b",
        "qwen3-14b",
        "qwen3-30b-a3b",
        "qwen3-32b",
        "qwen3-235b-a22b",
    ),
    "gemma": ("gemma-2b", "gemma-7b"),
    "gemma-2": ("gemma-2-2b", "gemma-2-9b", "gemma-2-27b"),
    "gemma-3": ("gemma-3-1b", "gemma-3-4b", "gemma-3-12b", "gemma-3-27b"),
    "phi": ("phi-3-mini", "phi-3-medium", "phi-4"),
    "tinyllama": ("tinyllama-1.1b",),
    "baichuan2": ("baichuan2-7b", "baichuan2-13b"),
    "gpt-oss": ("gpt-oss-20b", "gpt-oss-120b"),
    "glm-4.5": ("glm-4.5-air", "glm-4.5"),
    "smollm3": ("smollm3-3b",),
    "olmo-2": ("olmo-2-1b", "olmo-2-7b", "olmo-2-13b", "olmo-2-32b"),
    "minimax": ("minimax-m2", "minimax-text-01"),
}
"""Decoders like Llama: RMSNorm, rotated positions, gated feed-forward parts, perhaps experts."""

HYBRIDS: dict[str, tuple[str, ...]] = {
    "nemotron-h": (
        "nemotron-h-4b",
        "nemotron-h-8b",
        "nemotron-nano-2-9b",
        "nemotron-nano-2-12b",
        "nemotron-3-nano-30b-a3b",
        "nemotron-h-47b",
        "nemotron-h-56b",
    ),
    "jamba": ("jamba-mini", "jamba-large"),
    "granite-4": ("granite-4-small",),
    "qwen3-next": ("qwen3-next-80b-a3b",),
}
"""Decoders of layers with attention and layers with scans."""

LANGUAGE = {**ENCODERS, **GPT, **LLAMA, **HYBRIDS}
"""All transformers over tokens, which take a sequence length."""

VISION: dict[str, tuple[str, ...]] = {
    "vit": ("vit-base-16", "vit-b-32", "vit-l-16", "vit-l-32", "vit-h-14"),
}
"""Transformers over the patches of an image."""

COMMON = {
    "t5": "t5-11b",
    "t5-v1.1": "t5-v1.1-xxl",
    "gpt3": "gpt3-175b",
    "megatron": "megatron-145b",
    "palm": "palm-540b",
    "opt": "opt-175b",
    "bloom": "bloom-176b",
    "pythia": "pythia-6.9b",
    "falcon": "falcon-40b",
    "mpt": "mpt-7b",
    "nemotron-4": "nemotron-4-340b",
    "llama-3": "llama-3-8b",
    "llama-4": "llama-4-maverick",
    "deepseek": "deepseek-v3",
    "qwen2.5": "qwen2.5-7b",
    "qwen3": "qwen3-8b",
    "gemma": "gemma-7b",
    "gemma-2": "gemma-2-9b",
    "gemma-3": "gemma-3-4b",
    "baichuan2": "baichuan2-13b",
    "gpt-oss": "gpt-oss-120b",
    "glm-4.5": "glm-4.5",
    "kimi": "kimi-k2",
    "olmo-2": "olmo-2-7b",
    "nemotron-h": "nemotron-h-8b",
}
"""Family -> the network that its name means, if not the smallest."""
