"""Scenarios."""

MESSAGES = {
    "scenario.invalid": "expected a Scenario or a mapping of its options, e.g. {{'workload': "
    "'resnet50'}}, not {asked!r:.60}",
    "scenario.twice": "{field} and {key}: give one, they are the same",
}
