"""Functions that read each ``model_type``."""

from __future__ import annotations

from collections.abc import Callable

from perfmodel.workloads.architecture import Architecture
from perfmodel.workloads.huggingface import encoders, gpt, llama
from perfmodel.workloads.huggingface.config import Config

FAMILIES: dict[str, Callable[[Config], Architecture]] = {
    "bert": encoders.bert,
    "bloom": gpt.bloom,
    "deepseek": llama.deepseek,
    "deepseek_v2": llama.deepseek,
    "deepseek_v3": llama.deepseek,
    "distilbert": encoders.distilbert,
    "falcon": gpt.falcon,
    "gemma": llama.gemma,
    "gemma2": llama.gemma2,
    "gemma3_text": llama.gemma3,
    "gpt2": gpt.gpt2,
    "gpt_neo": gpt.gpt_neo,
    "gpt_neox": gpt.gpt_neox,
    "gpt_oss": llama.gpt_oss,
    "gptj": gpt.gptj,
    "kimi_k2": llama.deepseek,
    "llama": llama.llama,
    "llama4_text": llama.llama4,
    "mistral": llama.mistral,
    "mixtral": llama.mixtral,
    "mpt": gpt.mpt,
    "nemotron": gpt.nemotron,
    "opt": gpt.opt,
    "phi": gpt.phi,
    "phi3": llama.mistral,
    "qwen2": llama.qwen2,
    "qwen2_moe": llama.qwen2_moe,
    "qwen2_vl": llama.qwen2,
    "qwen2_vl_text": llama.qwen2,
    "qwen3": llama.qwen3,
    "qwen3_moe": llama.qwen3,
    "qwen3_vl_moe_text": llama.qwen3,
    "qwen3_vl_text": llama.qwen3,
    "t5": encoders.t5,
    "vit": encoders.vit,
}
"""``model_type`` of the file -> function that returns the architecture."""
