"""Files of options."""

MESSAGES = {
    "options_file.twice": "{key} is given twice, in two spellings",
    "options_file.value": "{field} = {value!r}: {message}",
}
