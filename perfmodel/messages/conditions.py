"""Conditions of a job."""

MESSAGES = {
    "conditions.invalid": "conditions: expected perfmodel.Conditions, not {conditions!r:.60}",
}
