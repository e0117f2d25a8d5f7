"""How samples reach the accelerators: data sets, decoding, loading."""
