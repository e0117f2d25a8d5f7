"""Amounts with their units."""

MESSAGES = {
    "quantity.share": "{text!r:.40}: expected a share such as 0.95 or 95%",
    "quantity.unreadable": "{text!r} is not {quantity}; {right}",
    "quantity.negative": "{text!r} is negative; expected for example {example}",
    "quantity.too_large": "{text!r} is too large; expected for example {example}",
}
