"""Communication that overlaps computation."""

MESSAGES = {
    "overlap.not_possible": "--overlap {asked}: {why}",
}
