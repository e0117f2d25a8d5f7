"""Options of ``validate``."""

MESSAGES = {
    "validate.leave_out_year": "leave out {name}: expected a year from {first_year} to {last_year}, "
    "as year:2024",
    "validate.anchored_machine": "mode anchored-machine is of training, not of {kind}",
    "validate.anchored": "mode anchored is of training and mlperf; {kind} take no time on one accelerator",
    "validate.claims_data": "kind claims takes no data: check_quote judges a file of claims",
    "validate.diagnose_data": "kind diagnose takes no data: diagnose judges a listing",
    "validate.no_errors": "kind {kind} has no errors: a diagnosis is right or wrong; its summary counts",
    "validate.no_run": "no measured run to predict",
    "validate.leave_out_rows": "{option}: leave-out tests take the shipped rows of every kind; drop it",
    "validate.write": "--write belongs to leave-out tests: add --leave-out or --learning-curve",
    "validate.explain_row": "--explain-row: by the shipped fit from specs; leave --out-of-sample, "
    "--report, --plots, --ledger, --by and --mode out",
    "validate.claims_by": "--by: kind {kind} is not grouped",
    "validate.by": "--by {unable}: {kind} are grouped by {known}",
    "validate.plots": "--plots belongs to the report: give --report FILE too",
    "validate.report_kind": "--report holds every kind: leave --kind {kind} out",
    "validate.report_mode": "--report holds specs and anchored: leave --mode anchored-machine out",
    "validate.ledger": "--ledger is of training, transformers or collectives, from specs and by the "
    "shipped fit: give --data, and no --out-of-sample, --report or --mode",
    "validate.jobs": "--jobs: of training with --out-of-sample or --report; the rest takes seconds",
}
