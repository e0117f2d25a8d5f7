"""From a scenario to a setting: names resolved, defaults filled in, conflicts refused."""
