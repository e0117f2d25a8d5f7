"""The ledger: measured rows that were predicted before a fit learned from them."""

MESSAGES = {
    "ledger.missing_rows": "{name}: {count} new rows have no entry in the ledger, the first is "
    "{missing}: before anything learns from them, run `perfmodel validate --data FILE "
    "--ledger validation/ledger.csv`",
    "ledger.malformed": "expected a ledger, whose columns are {known}",
}
