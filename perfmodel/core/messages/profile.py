"""Files of a profile."""

MESSAGES = {
    "profile.json": "JSON, and a profile is TOML: `perfmodel calibrate --trace` writes one; what "
    "perfmodel calibrate made of measured runs goes to --calibration",
    "profile.no_bandwidth": "the profile's link.bandwidth is 0: expected what its bus carries in B/s",
}
