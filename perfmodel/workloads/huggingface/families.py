"""Functions that read each ``model_type``."""

from __future__ import annotations

from collections.abc import Callable

from perfmodel.workloads.architecture import Architecture
from perfmodel.workloads.huggingface import encoders, gpt, hybrids, llama, recent
from perfmodel.workloads.huggingface.config import Config

FAMILIES: dict[str, Callable[[Config], Architecture]] = {
    "bert": encoders.bert,
    "bloom": gpt.bloom,
    "deepseek": llama.deepseek,
    "deepseek_v2": llama.deepseek,
    "deepseek_v3": llama.deepseek,
    "deepseek_v32": recent.deepseek_v32,
    "dots1": recent.dots1,
    "ernie4_5_moe": recent.ernie4_5_moe,
    "distilbert": encoders.distilbert,
    "falcon": gpt.falcon,
    "gemma": llama.gemma,
    "gemma2": llama.gemma2,
    "gemma3_text": llama.gemma3,
    "glm4_moe": recent.glm4_moe,
    "gpt2": gpt.gpt2,
    "gpt_neo": gpt.gpt_neo,
    "gpt_neox": gpt.gpt_neox,
    "gpt_oss": llama.gpt_oss,
    "gptj": gpt.gptj,
    "granitemoehybrid": hybrids.granite_hybrid,
    "jamba": hybrids.jamba,
    "kimi_k2": llama.deepseek,
    "kimi_linear": hybrids.kimi_linear,
    "llama": llama.llama,
    "llama4_text": llama.llama4,
    "minimax": hybrids.minimax,
    "minimax_m2": recent.minimax_m2,
    "minimax_text_01": hybrids.minimax,
    "mistral": llama.mistral,
    "mixtral": llama.mixtral,
    "mpt": gpt.mpt,
    "nemotron": gpt.nemotron,
    "nemotron_h": hybrids.nemotron_h,
    "olmo2": recent.olmo2,
    "olmo3": recent.olmo3,
    "olmoe": recent.olmoe,
    "opt": gpt.opt,
    "phi": gpt.phi,
    "phi3": llama.mistral,
    "qwen2": llama.qwen2,
    "qwen2_moe": llama.qwen2_moe,
    "qwen2_vl": llama.qwen2,
    "qwen2_vl_text": llama.qwen2,
    "qwen3": llama.qwen3,
    "qwen3_moe": llama.qwen3,
    "qwen3_next": hybrids.qwen3_next,
    "seed_oss": recent.seed_oss,
    "smollm3": recent.smollm3,
    "qwen3_vl_moe_text": llama.qwen3,
    "qwen3_vl_text": llama.qwen3,
    "t5": encoders.t5,
    "vit": encoders.vit,
}
"""``model_type`` of the file -> function that returns the architecture."""
