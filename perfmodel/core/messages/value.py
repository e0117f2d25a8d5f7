"""Invalid values of a field."""

MESSAGES = {
    "value.invalid": "{field} = {value}: expected {expected}",
    "value.jobs": "{given!r}: expected a whole number from 1 to {most}, or all (cores)",
    "value.missing": "{field}: the key is missing",
    "value.refused": "{cause}",
}
