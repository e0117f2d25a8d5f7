"""Second methods: simulators that move data or pass time, to hold the closed forms against."""
