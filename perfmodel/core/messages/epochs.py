"""Tables of epochs to a target."""

MESSAGES = {
    "epochs.unreadable": "cannot read {measured}: {strerror}",
    "epochs.malformed": "{measured}: not a table of epochs to a target: {error}",
}
