"""Accelerators."""

MESSAGES = {
    "accelerator.no_peak": "{id} has no peak for {precision}; it has {known}",
    "accelerator.no_low_precision": "{id} has no peak for {precision}; it has {known}: --precision {nearest} "
    "is the nearest",
}
