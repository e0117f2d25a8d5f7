"""From a scenario to a setting, a step and a prediction with its interval."""
