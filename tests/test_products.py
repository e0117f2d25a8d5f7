"""Names of kernels say in which number format a trace's matrix products are."""

from __future__ import annotations

import pytest

from perfmodel.evidence.traces.products import formats_of

pytestmark = pytest.mark.any_version
FORMATS = {
    "volta_fp16_s884cudnn_fp16_256x64_ldg8_relu_f2f_exp_small_nhwc_tn_v1": "fp16",
    "volta_s884cudnn_fp16_256x128_ldg8_wgrad_idx_exp_interior_nhwc_nt_v1": "fp16",
    "volta_h884gemm_64x64_ldg8_nn": "fp16",
    "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn": "fp16",
    "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nchw": "fp16",
    "void implicit_convolve_sgemm<__half, __half, 1024>(int)": "fp16",
    "fmha_cutlassF_f16_aligned_64x64_rf_sm80": "fp16",
    "nvjet_hsh_256x128_64x4_2x1_v_bz_coopB_TNN": "fp16",
    "Cijk_Ailk_Bljk_HHS_BH_MT128x128x16": "fp16",
    "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_tn": "bf16",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x128x64": "bf16",
    "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT": "bf16",
    "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, cutlass::bfloat16_t>>()": "bf16",
    "Cijk_Ailk_Bljk_BBS_BH_MT128": "bf16",
    "sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n": "fp8",
    "sm80_xmma_gemm_f32f32_tf32f32_f32_tn": "tf32",
    "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align4>(T)": "tf32",
    "ampere_sgemm_128x64_tn": "fp32",
    "cudnn_volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1": "fp32",
    "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int)": "fp32",
    "Cijk_Ailk_Bljk_SB_MT64x64": "fp32",
}


@pytest.mark.parametrize("kernel", FORMATS)
def test_a_product_says_its_format(kernel):
    assert formats_of([kernel]) == (FORMATS[kernel],)


@pytest.mark.parametrize(
    "kernel", [name for name, seen in FORMATS.items() if seen in ("fp16", "bf16", "fp8")]
)
def test_a_job_with_one_product_in_16_bits_or_fewer_is_mixed(kernel):
    assert formats_of(["volta_sgemm_64x64_nt", kernel]) == (FORMATS[kernel],)


@pytest.mark.parametrize(
    "other", ["void copy<c10::Half>(int)", "mine_fp16_matmul", "my_gemm", "copy<c10::BFloat16>"]
)
def test_32_bits_are_not_taken_for_certain_beside_what_may_be_in_16(other):
    assert formats_of(["volta_sgemm_64x64_nt", other]) == ()
