"""The options of a prediction: scenario, layout, prices and failures."""
