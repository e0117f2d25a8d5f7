"""Accelerators."""

MESSAGES = {
    "accelerator.no_peak": "{id} has no peak for {precision}; it has {known}",
}
