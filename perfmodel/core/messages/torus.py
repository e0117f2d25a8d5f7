"""Tori of accelerators."""

MESSAGES = {
    "torus.malformed": "--torus-dimensions {text}: expected ranks in a row x ranks in a column, e.g. "
    "4x8 of 32 ranks",
    "torus.strategy": "--torus-dimensions goes with --strategy all-reduce, not {strategy}",
    "torus.uneven": "--algorithm torus: {ranks} ranks do not fill {nodes} nodes of {per_node} "
    "evenly; give {jobs}",
    "torus.algorithm": "--torus-dimensions {text}: goes with --algorithm torus, not {algorithm}",
    "torus.ranks": "--torus-dimensions {grid} holds {held} ranks, not {ranks}; {right}",
    "torus.straddles": "--torus-dimensions {grid}: rows straddle nodes of {per_node}; {right}",
}
