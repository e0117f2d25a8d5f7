"""The encoder of images in front of a language model, and the projector between them."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Projector = Literal["mlp", "pool", "merge"]
"""``mlp``: two products for every patch (LLaVA); ``pool``: the mean of neighbouring patches, a norm and a
product (Gemma 3); ``merge``: a norm, and two products for the joined features of neighbours (Qwen2-VL)."""


class Tower(NamedTuple):
    """Widths and counts of an encoder of images; biases and two norms in every layer."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    patch_elements: int
    """Numbers in a patch: pixels, colours and frames."""
    text_hidden: int
    """Features of a token of the language model."""
    projector: Projector
    patches_per_token: int = 1
    """Patches that make one token of the language model."""
    patches: int = 0
    """Patches of every image; 0 for images of any size."""
    images: int = 1
    """Images of a sample."""
    image_tokens: int = 0
    """Tokens of an image in the language model."""
    class_token: bool = False
    patch_bias: bool = False
    learned_positions: int = 0
    """Rows of the table of positions."""
    outer_norms: int = 0
    """Norms before and after the layers."""
    mergers: int = 1
    """Projectors: one, and one for each layer whose output is added inside the language model (DeepStack)."""
    frozen: bool = False
    """Its weights are not trained; those of the projector are."""

    @property
    def tokens(self) -> Any:
        """Tokens of all images of a sample, in the language model."""
        return self.images * self.image_tokens

    @property
    def positions(self) -> Any:
        """Patches of an image, each of which attends to all, with the class token."""
        return self.image_tokens * self.patches_per_token + self.class_token

    @property
    def input_elements(self) -> Any:
        """Numbers of all patches of a sample."""
        return self.tokens * self.patches_per_token * self.patch_elements

    @property
    def layer_weights(self) -> Any:
        """Weights of the products of one layer."""
        return 4 * self.hidden**2 + 2 * self.hidden * self.feed_forward

    @property
    def layer_parameters(self) -> Any:
        """Parameters of one layer: products, their biases, two norms."""
        return self.layer_weights + 9 * self.hidden + self.feed_forward

    @property
    def encoder_parameters(self) -> Any:
        """Parameters without the projector.

        CLIP ViT-L/14 at 336 pixels, without the product after its last layer:

        >>> clip = Tower(1024, 24, 16, 4096, 588, 4096, "mlp", patches=576, image_tokens=576,
        ...     class_token=True, learned_positions=577, outer_norms=2, frozen=True)
        >>> clip.encoder_parameters, clip.projector_parameters
        (303507456, 20979712)
        """
        rows = self.patch_elements + self.patch_bias + self.class_token + self.learned_positions
        return (rows + 2 * self.outer_norms) * self.hidden + self.layers * self.layer_parameters

    @property
    def joined(self) -> Any:
        """Features of a token before the projector's first product."""
        return self.hidden * self.patches_per_token if self.projector == "merge" else self.hidden

    @property
    def inner(self) -> Any:
        """Features between the projector's products; 0 with one product."""
        return {"mlp": self.text_hidden, "pool": 0, "merge": self.joined}[self.projector]

    @property
    def projector_weights(self) -> Any:
        """Weights of the products of all projectors."""
        if not self.inner:
            return self.joined * self.text_hidden
        return self.mergers * self.inner * (self.joined + self.text_hidden)

    @property
    def projector_parameters(self) -> Any:
        """Parameters of all projectors: products, biases where there are two products, norms."""
        if self.projector == "pool":
            return self.projector_weights + self.hidden
        biases = self.mergers * (self.inner + self.text_hidden)
        norms = 2 * (self.hidden + (self.mergers - 1) * self.joined) if self.projector == "merge" else 0
        return self.projector_weights + biases + norms

    @property
    def parameters(self) -> Any:
        """All parameters."""
        return self.encoder_parameters + self.projector_parameters

    @property
    def encoder_flops(self) -> Any:
        """FLOP of the forward pass of a sample's images, without the projector."""
        patches = self.image_tokens * self.patches_per_token
        of_layers = self.layers * self.positions * (self.layer_weights + 2 * self.positions * self.hidden)
        return 2 * self.images * (patches * self.patch_elements * self.hidden + of_layers)

    @property
    def projector_flops(self) -> Any:
        """FLOP of the forward pass of the projector for a sample."""
        return 2 * self.tokens * self.projector_weights
