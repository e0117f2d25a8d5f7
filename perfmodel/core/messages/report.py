"""Reports."""

MESSAGES = {
    "report.ending": "report {path}: give FILE.html, or FILE.md for Markdown",
    "report.calibration": "calibration = {calibration!r}: of a quote alone; this answer was made before",
}
