"""The architecture of a transformer: widths and counts that determine parameters, FLOP and messages."""

from __future__ import annotations

from typing import NamedTuple

from perfmodel.core import ops
from perfmodel.workloads.scan import Scan
from perfmodel.workloads.tower import Tower

ATTENTION, SCAN, DENSE, EXPERTS = "*M-E"
"""Letters of ``Architecture.pattern``, as Megatron-LM writes them."""


class Architecture(NamedTuple):
    """Widths [elements] and counts of a transformer.

    A layer is attention and a feed-forward part.  A mixture of experts has layers with ``experts`` instead,
    and a router that sends each token to ``top_k`` of them.  If ``encoder_layers`` is not 0, ``layers`` are
    those of the decoder, each with a second attention to the encoder's output.
    """

    hidden: int
    """Features of a token between layers."""
    layers: int
    """Layers of the decoder, or of the only stack."""
    heads: int
    """Query heads."""
    kv_heads: int
    """Key and value heads; equal to ``heads`` if query heads do not share them."""
    head_size: int
    """Features of one query, and of one key."""
    feed_forward: int
    """Inner width of the feed-forward part in layers without experts; 0 if all layers have experts."""
    vocabulary: int
    """Tokens of the vocabulary, padded as in training; classes of a classifier."""
    positions: int
    """Tokens of the longest sequence."""

    gated: bool = False
    """Feed-forward parts have a third matrix, the gate (SwiGLU, GEGLU)."""
    tied: bool = False
    """The product for the logits uses the token embeddings."""

    experts: int = 0
    """Routed experts of a layer that has them; 0 for a dense network."""
    top_k: int = 0
    """Routed experts that a token passes through."""
    shared_experts: int = 0
    """Experts that every token passes through, each of width ``expert_feed_forward``."""
    expert_feed_forward: int = 0
    """Inner width of one expert."""
    moe_frequency: int = 1
    """Period of the layers with experts: in each group of so many layers the last has them; 1: all layers."""
    routing_nodes: int = 0
    """Most nodes that routing sends a token to; 0 without a limit."""
    dense_layers: int = 0
    """Number of first layers without experts."""

    query_rank: int = 0
    """Latent attention (DeepSeek-V2): width to which queries are compressed; 0: they are not compressed."""
    kv_rank: int = 0
    """Latent attention: width to which keys and values are compressed; 0 for no latent attention."""
    rope_size: int = 0
    """Latent attention: features of ``head_size`` that are rotated; those of keys are shared by all heads."""
    value_size: int = 0
    """Features of one value; 0 for ``head_size``."""

    encoder_layers: int = 0
    """Layers of the encoder; 0 without one."""
    target_fraction: float = 1.0
    """Tokens of the decoder per token of the encoder, if there is one."""
    bidirectional: bool = False
    """Every position of the only stack attends to all others (BERT, ViT), not only to earlier ones."""
    window: int = 0
    """Earlier positions that a layer attends to; 0 for all."""
    full_frequency: int = 0
    """Period of the layers that attend to all positions in spite of ``window``, as above; 0: none."""
    chunked: bool = False
    """``window`` is the length of chunks that a sequence is cut into (Llama 4), not a sliding window."""
    predicted_fraction: float = 1.0
    """Share of the positions with logits: masked tokens (BERT), the class token (ViT)."""

    learned_positions: int = 0
    """Rows of the table of position embeddings; 0 for rotated, biased or computed positions."""
    relative_positions: int = 0
    """Rows of a table of relative positions, one column per head, in each stack (T5)."""
    types: int = 0
    """Rows of the table of segments (BERT)."""
    patch_elements: int = 0
    """Numbers in a patch of an image, pixels times colours; 0 if tokens are words."""
    tower: Tower | None = None
    """An encoder of images, whose outputs are tokens of the sequence."""
    norms: int = 2
    """Normalisations of a layer without cross-attention."""
    norm_bias: bool = False
    """Normalisations have a bias (LayerNorm, not RMSNorm)."""
    embedding_norm: bool = False
    """Embeddings are normalised (BERT, BLOOM)."""
    final_norm: bool = True
    """The output of the last layer is normalised."""
    query_key_norm: bool = False
    """Queries and keys are normalised by head (Qwen3, Gemma 3)."""
    query_bias: bool = False
    """Biases of queries, keys and values."""
    output_bias: bool = False
    """Bias of the product that ends an attention."""
    bias: bool = False
    """Biases of feed-forward products, experts included."""
    router_bias: bool = False
    """Bias of the router."""
    parallel: bool = False
    """Attention and feed-forward part read the same input and are summed (GPT-NeoX, Falcon, PaLM)."""
    relu: bool = False
    """The activation is ReLU, squared or not; otherwise it is smooth (GELU, SiLU)."""
    computed_positions: bool = False
    """Positions are computed, neither learned nor rotated: distances added to scores, sines to tokens."""
    dropout: bool = False
    """Trained with dropout after embeddings, attention and feed-forward parts."""
    document_length: float = 0
    """Mean length of the documents packed into a sequence [tokens]; 0: a sequence is one document."""
    document_spread: float = 0.0
    """Standard deviation of that length over its mean."""

    pattern: str = ""
    """Parts of the layers in order, repeated until all layers have theirs: ``*`` attention, ``M`` ``scan``,
    ``-`` dense feed-forward part, ``E`` experts; one letter a layer (Nemotron-H), or two, of which the first
    mixes tokens (Qwen3-Next).  "": every layer has attention and a feed-forward part."""
    parts: int = 2
    """Letters of ``pattern`` for a layer."""
    scan: Scan | None = None
    """What ``M`` in ``pattern`` means."""
    norm_over_heads: bool = False
    """``query_key_norm`` is over the features of all heads at once (OLMo 2, MiniMax-M2)."""
    output_gate: bool = False
    """Queries come with a gate of their width for attention's output (Qwen3-Next)."""
    shared_gate: bool = False
    """The output of shared experts is weighted by a product of one column (Qwen2-MoE)."""
    index_heads: int = 0
    """Sparse attention (DeepSeek-V3.2): heads of the indexer that selects what a query attends to."""
    index_size: int = 0
    """Sparse attention: features of a head of the indexer, which all heads' keys share."""
    index_top_k: int = 0
    """Sparse attention: earlier positions that a query attends to; 0: all."""
    mtp_layers: int = 0
    """Modules after the last layer that predict a further token each (DeepSeek-V3): two norms, a product of
    twice the hidden features, a layer with attention, and logits by the same table."""

    @property
    def predicts_next_token(self) -> bool:
        """Whether the network is one causal stack, whose positions attend only to earlier ones."""
        return not self.bidirectional and not self.encoder_layers

    @property
    def moe_layers(self) -> int:
        """Number of layers with experts; in the example every second of 6, without the first 2.

        >>> switch = Architecture(8, 6, 2, 2, 4, 32, 100, 64, experts=4, top_k=1, moe_frequency=2,
        ...     dense_layers=2)
        >>> switch.moe_layers, [switch.has_experts(layer) for layer in range(6)]
        (2, [False, False, False, True, False, True])
        """
        if not self.experts:
            return 0
        if self.pattern:
            return self.sequence.count(EXPERTS)
        return self.layers // self.moe_frequency - self.dense_layers // self.moe_frequency

    def has_experts(self, layer: int) -> bool:
        """Whether a layer, counted from 0, has experts."""
        if self.pattern:
            return EXPERTS in self.letters(layer)
        return self.experts > 0 and layer >= self.dense_layers and (layer + 1) % self.moe_frequency == 0

    @property
    def sequence(self) -> str:
        """The pattern of all layers.

        >>> hybrid = Architecture(8, 4, 2, 2, 4, 32, 100, 64, pattern="M-*-")
        >>> hybrid.sequence, hybrid.letters(1), hybrid.attention_layers, hybrid.scan_layers
        ('M-*-M-*-', '*-', 2, 2)
        """
        letters = int(ops.plain(self.layers)) * self.parts
        return (self.pattern * (letters // len(self.pattern) + 1))[:letters] if self.pattern else ""

    def letters(self, layer: int) -> str:
        """Return the letters of a layer, counted from 0."""
        return self.sequence[layer * self.parts : (layer + 1) * self.parts]

    @property
    def attention_layers(self) -> int:
        """Number of layers with attention, those of the encoder left out."""
        return self.sequence.count(ATTENTION) if self.pattern else self.layers

    @property
    def scan_layers(self) -> int:
        """Number of layers with a scan."""
        return self.sequence.count(SCAN)

    @property
    def plain_layers(self) -> int:
        """Number of layers with a feed-forward part without experts."""
        return self.sequence.count(DENSE) if self.pattern else self.layers - self.moe_layers

    def attends_to(self, layer: int, sequence_length: int) -> int:
        """Return the most positions that a position of a layer, counted from 0, attends to.

        >>> gemma = Architecture(8, 4, 2, 2, 4, 32, 100, 8192, window=4096, full_frequency=2)
        >>> gemma.attends_to(0, 8192), gemma.attends_to(1, 8192), gemma.attends_to(0, 1024)
        (4096, 8192, 1024)
        """
        if not self.window or (self.full_frequency and (layer + 1) % self.full_frequency == 0):
            return sequence_length
        return min(self.window, sequence_length)

    def targets(self, sequence_length: int) -> int:
        """Return the tokens of the decoder for ``sequence_length`` tokens of the encoder.

        >>> Architecture(8, 2, 2, 2, 4, 32, 100, 512, target_fraction=114 / 512).targets(512)
        114
        """
        count: int = max(1, round(ops.plain(self.target_fraction * sequence_length)))
        return count

    @property
    def rotary(self) -> bool:
        """Whether positions are rotated into queries and keys, as there is no table or bias for them."""
        return not (self.learned_positions or self.relative_positions or self.computed_positions)

    @property
    def value_width(self) -> int:
        """Features of all heads after the weighted sum, the input of the attention's last product."""
        return self.heads * (self.value_size or self.head_size)

    @property
    def attention_parameters(self) -> int:
        """Parameters of one attention: its projections and inner norms.

        Of 2 heads of 4 features that share a key and a value, width 8: 8 x 8 + 2 x 8 x 4 + 8 x 8.

        >>> Architecture(8, 1, heads=2, kv_heads=1, head_size=4, feed_forward=32, vocabulary=100,
        ...     positions=64).attention_parameters
        192
        """
        queries = self.heads * self.head_size
        output = self.value_width * self.hidden + self.output_bias * self.hidden
        if self.kv_rank:
            plain = self.head_size - self.rope_size
            expanded = self.heads * plain + self.value_width
            into = self.query_rank or self.hidden
            compressed = self.query_rank * (self.hidden + 1)
            keys = self.hidden * (self.kv_rank + self.rope_size) + self.kv_rank * (1 + expanded)
            return compressed + into * queries + keys + output + self.indexer_parameters
        width = queries + 2 * self.kv_heads * self.head_size
        width += queries * self.output_gate
        normed = self.heads + self.kv_heads if self.norm_over_heads else 2
        norms = normed * self.head_size * self.query_key_norm
        return width * (self.hidden + self.query_bias) + norms + output

    @property
    def indexer_parameters(self) -> int:
        """Parameters of one indexer: its products, and a norm of keys with bias.

        DeepSeek-V3.2: 64 heads of 128 from queries compressed to 1536, and from 7168 features a key and the
        weights of the heads.

        >>> Architecture(7168, 61, 128, 128, 192, 18432, 129280, 163840, query_rank=1536, kv_rank=512,
        ...     rope_size=64, value_size=128, index_heads=64, index_size=128).indexer_parameters
        13959424
        """
        if not self.index_heads:
            return 0
        queries = (self.query_rank or self.hidden) * self.index_heads * self.index_size
        return queries + self.hidden * (self.index_size + self.index_heads) + 2 * self.index_size

    @property
    def scan_parameters(self) -> int:
        """Parameters of one scan with its products; 0 without one."""
        return self.scan.parameters(self.hidden) if self.scan else 0

    @property
    def module_parameters(self) -> int:
        """Parameters of one module that predicts a further token, the tables it shares left out."""
        part = self.routed_parameters if self.moe_layers else self.dense_parameters
        norms = (self.norms if self.parts > 1 else 2 * self.norms) + 3
        return self.attention_parameters + part + norms * self._norm_parameters + 2 * self.hidden**2

    @property
    def routed_parameters(self) -> int:
        """Parameters of the router and all experts of one layer; 0 without experts."""
        experts = (self.experts + self.shared_experts) * self.expert_parameters
        return self.router_parameters + experts + self.hidden * self.shared_gate

    @property
    def dense_parameters(self) -> int:
        """Parameters of the feed-forward part of one layer without experts."""
        return self._feed_forward_parameters(self.feed_forward)

    @property
    def expert_parameters(self) -> int:
        """Parameters of one expert; 0 without experts."""
        return self._feed_forward_parameters(self.expert_feed_forward) if self.experts else 0

    @property
    def router_parameters(self) -> int:
        """Parameters of the router of one layer; 0 without experts."""
        return self.experts * (self.hidden + self.router_bias)

    def _feed_forward_parameters(self, width: int) -> int:
        biases = ((1 + self.gated) * width + self.hidden) * self.bias
        return (2 + self.gated) * self.hidden * width + biases

    @property
    def embedding_parameters(self) -> int:
        """Parameters before the first layer: tables of words or patches, positions, segments, a norm."""
        # patches also have a bias and a class token
        rows = self.patch_elements + 2 if self.patch_elements else self.vocabulary
        rows += self.learned_positions + self.types
        return rows * self.hidden + self.embedding_norm * self._norm_parameters

    @property
    def head_parameters(self) -> int:
        """Parameters of the product for the logits; 0 if it uses the token embeddings."""
        classifier = bool(self.patch_elements)
        return 0 if self.tied else self.vocabulary * (self.hidden + classifier)

    @property
    def _norm_parameters(self) -> int:
        return (1 + self.norm_bias) * self.hidden

    @property
    def parameters(self) -> int:
        """All parameters, without those of BERT's heads beyond the logits (0.6 to 1.1 %).

        GPT-2: 12 layers of 12 h^2 weights and 13 h biases and norms, 50257 words and 1024 positions of h, a
        norm of 2 h; h is 768.

        >>> gpt2 = Architecture(768, 12, 12, 12, 64, 3072, 50257, 1024, tied=True, learned_positions=1024,
        ...     norm_bias=True, query_bias=True, output_bias=True, bias=True)
        >>> gpt2.parameters
        124439808
        """
        norm, attention = self._norm_parameters, self.attention_parameters
        stacks = 1 + bool(self.encoder_layers)
        layer = self.norms * norm
        return (
            self.embedding_parameters
            + stacks * self.relative_positions * self.heads
            + self.encoder_layers * (attention + layer + self.dense_parameters)
            + self.layers * (layer + bool(self.encoder_layers) * (attention + norm))
            + self.attention_layers * attention
            + self.scan_layers * self.scan_parameters
            + self.plain_layers * self.dense_parameters
            + self.moe_layers * self.routed_parameters
            + self.mtp_layers * self.module_parameters
            + stacks * self.final_norm * norm
            + self.head_parameters
            + (self.tower.parameters if self.tower else 0)
        )

    @property
    def active_parameters(self) -> int:
        """Parameters that one token uses: all except those of experts it is not routed to.

        Mixtral 8x7B: of 8 experts of 3 x 4096 x 14336 in each of 32 layers, 2.

        >>> mixtral = Architecture(4096, 32, 32, 8, 128, 0, 32000, 32768, gated=True, experts=8, top_k=2,
        ...     expert_feed_forward=14336)
        >>> mixtral.parameters, mixtral.active_parameters
        (46702792704, 12879925248)
        """
        routed = self.moe_layers + (self.mtp_layers if self.moe_layers else 0)
        return self.parameters - routed * (self.experts - self.top_k) * self.expert_parameters
