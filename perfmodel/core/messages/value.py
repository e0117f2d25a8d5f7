"""Invalid values of a field."""

MESSAGES = {
    "value.invalid": "{field} = {value}: expected {expected}",
    "value.missing": "{field}: the key is missing",
    "value.refused": "{cause}",
}
