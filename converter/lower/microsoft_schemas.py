"""Schemas of the ops of ONNX Runtime's own domain that are lowered, and of those that it adds to ONNX's domain."""

from __future__ import annotations

from typing import Any

from .foreign import MANY, Required, declare

_WINDOW: dict[str, Any] = {"auto_pad": "NOTSET", "dilations": [int], "kernel_shape": [int], "pads": [int], "strides": [int]}
_ACTIVATION: dict[str, Any] = {"activation": str, "activation_params": [float]}

# Integers and scales.
declare("QuantizeLinear", "DequantizeLinear", inputs=(2, 3), axis=int)
declare("QLinearAdd", "QLinearMul", inputs=(7, 8))
declare("QLinearSigmoid", inputs=(4, 5))
declare("QLinearLeakyRelu", inputs=(4, 5), alpha=0.01)
declare("QLinearSoftmax", inputs=5, axis=-1, opset=Required(int))
declare("QLinearConcat", inputs=(3, MANY), axis=Required(int))
declare("QLinearWhere", inputs=9)
declare("QLinearReduceMean", inputs=(4, 5), axes=Required([int]), keepdims=Required(int))
declare("QLinearAveragePool", inputs=(4, 5), ceil_mode=0, channels_last=0, count_include_pad=0, **_WINDOW)
declare("NhwcMaxPool", inputs=1, ceil_mode=0, **_WINDOW)
declare("QLinearGlobalAveragePool", inputs=5, channels_last=0)
declare("QLinearConv", inputs=(8, 9), channels_last=0, group=1, **_WINDOW)
declare("QGemm", inputs=(6, 9), alpha=1.0, transA=0, transB=0)
declare("MatMulIntegerToFloat", inputs=(4, 7))
declare("DynamicQuantizeMatMul", inputs=(3, 5))
declare("DynamicQuantizeLSTM", inputs=12, outputs=(1, 3), activation_alpha=[float], activation_beta=[float], activations=[str],
        clip=float, direction="forward", hidden_size=int, input_forget=0)  # fmt: skip
declare("MatMulNBits", inputs=(3, 6), K=Required(int), N=Required(int), block_size=Required(int), bits=4, accuracy_level=0,
        weight_prepacked=0)  # fmt: skip
declare("GatherBlockQuantized", inputs=(3, 4), bits=4, block_size=128, gather_axis=0, quantize_axis=1)

# Products.
declare("FusedMatMul", inputs=2, alpha=1.0, transA=0, transB=0, transBatchA=0, transBatchB=0)
declare("TransposeMatMul", inputs=2, alpha=1.0, transA=0, transB=0)
declare("FusedGemm", inputs=(2, 3), alpha=1.0, beta=1.0, transA=0, transB=0, activation=str, activation_alpha=float,
        activation_beta=float, activation_gamma=float)  # fmt: skip
declare("FusedConv", "NhwcFusedConv", inputs=(2, 4), group=1, **_WINDOW, **_ACTIVATION)
declare("NhwcConv", inputs=(2, 3), group=1, **_WINDOW)
declare("GemmFastGelu", inputs=(2, 3))
declare("ComplexMul", "ComplexMulConj", inputs=2)

# Elementwise and movement.
declare("Gelu", inputs=1)
declare("FastGelu", inputs=(1, 2))
declare("QuickGelu", inputs=1, alpha=1.702)
declare("BiasGelu", "BiasSplitGelu", inputs=2)
declare("BiasAdd", inputs=3)
declare("Pad", inputs=(2, 3), mode="constant")
declare("Range", inputs=(2, 3))
declare("ExpandDims", inputs=2)
declare("Trilu", inputs=(1, 2), upper=1)
declare("GridSample", inputs=2, mode="bilinear", padding_mode="zeros", align_corners=0)
declare("Unique", inputs=1, outputs=3)
declare("CropAndResize", inputs=4, mode="bilinear", extrapolation_value=0.0)

# Normalisation and embedding.
declare("LayerNormalization", inputs=(2, 3), outputs=(1, 3), domain="", axis=-1, epsilon=1e-5, stash_type=1)
declare("SimplifiedLayerNormalization", inputs=2, outputs=(1, 2), domain="", axis=-1, epsilon=1e-5, stash_type=1)
declare("SimplifiedLayerNormalization", inputs=2, outputs=(1, 2), axis=-1, epsilon=1e-5, stash_type=1)
declare("SkipLayerNormalization", inputs=(3, 5), outputs=(1, 4), epsilon=1e-12)
declare("SkipSimplifiedLayerNormalization", inputs=(3, 4), outputs=(1, 4), epsilon=1e-12)
declare("EmbedLayerNormalization", inputs=(7, 9), outputs=(1, 3), epsilon=1e-12, mask_index_type=int)
declare("QEmbedLayerNormalization", inputs=18, outputs=2, epsilon=1e-12)
declare("GroupNorm", inputs=3, activation=Required(int), channels_last=1, epsilon=1e-5, groups=Required(int))
declare("SkipGroupNorm", inputs=(4, 5), outputs=(1, 2), activation=Required(int), channels_last=1, epsilon=1e-5,
        groups=Required(int))  # fmt: skip

# Attention.
declare("RotaryEmbedding", inputs=4, interleaved=0, is_packed_batching=0, num_heads=0, rotary_embedding_dim=0, scale=1.0)
declare("Attention", inputs=(2, 7), outputs=(1, 2), do_rotary=0, mask_filter_value=-10000.0, num_heads=Required(int),
        past_present_share_buffer=0, qkv_hidden_sizes=[int], rotary_embedding_dim=0, scale=float,
        unidirectional=0)  # fmt: skip
declare("MultiHeadAttention", inputs=(1, 10), outputs=(1, 4), mask_filter_value=-10000.0, num_heads=Required(int),
        scale=float, unidirectional=0)  # fmt: skip
declare("DecoderMaskedMultiHeadAttention", inputs=(1, 11), outputs=(1, 4), mask_filter_value=-10000.0, num_heads=Required(int),
        output_qk=0, past_present_share_buffer=0, scale=float)  # fmt: skip
declare("GroupQueryAttention", inputs=(7, 17), outputs=(1, 4), causal=1, do_rotary=0, k_norm_epsilon=float, q_norm_epsilon=float,
        qk_norm_epsilon=1e-6, k_quant_type="NONE", v_quant_type="NONE", kv_cache_bit_width=0, kv_num_heads=Required(int),
        num_heads=Required(int), local_window_size=-1, qk_output=0, rotary_interleaved=0, scale=float, sliding_window_cache=0,
        smooth_softmax=-1, softcap=0.0)  # fmt: skip
declare("QAttention", inputs=(5, 9), outputs=(1, 2), do_rotary=0, mask_filter_value=-10000.0, num_heads=Required(int),
        past_present_share_buffer=0, scale=float, unidirectional=0)  # fmt: skip

# Gates and recurrences.
declare("ScaledSiLU", inputs=(1, 2), alpha=1.0)
declare("GatedRMSNorm", inputs=3, activation="silu", epsilon=1e-5)
declare("SwiGLU", inputs=(1, 2), activation_alpha=1.0, activation_beta=0.0, limit=0.0, round_activation=0)
declare("LinearAttention", inputs=(3, 6), outputs=2, chunk_size=64, q_num_heads=Required(int), kv_num_heads=Required(int),
        scale=0.0, state_window=0, update_rule="gated_delta")  # fmt: skip
declare("CausalConvWithState", inputs=(2, 4), outputs=(2, 3), activation="none", channels_last=0, dilation=1, ndim=1,
        input_channel_offset=0, input_channels=0, state_channels_last=-1, state_length=0, state_update_capacity=0,
        state_window=0)  # fmt: skip
