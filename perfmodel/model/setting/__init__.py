"""From a scenario to a setting: names looked up, defaults taken, conflicts refused."""
