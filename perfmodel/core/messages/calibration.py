"""Files of a calibration."""

MESSAGES = {
    "calibration.invalid": "constants = {constants!r:.60}: expected what read_calibration returns",
    "calibration.malformed": "not what perfmodel calibrate writes ({error})",
    "calibration.toml": "TOML, and a calibration is JSON, which perfmodel calibrate makes of "
    "measured runs; the profile that `perfmodel calibrate --trace` writes goes to --profile",
    "calibration.no_file": "--calibration {path!r} names no file: give what `perfmodel calibrate "
    "--output` wrote, or leave it out",
    "calibration.version": "version {get!r:.20}; this perfmodel reads {version}: {again}",
    "calibration.other_fit": "learned from another fit than this perfmodel has; {again}",
    "calibration.damaged": "damaged, or changed by hand: its seal does not fit what it holds; {again}",
    "calibration.damaged_by": "damaged: {error}; {again}",
}
