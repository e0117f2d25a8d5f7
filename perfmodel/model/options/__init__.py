"""What may be asked of a prediction: scenario, layout, prices and failures."""
