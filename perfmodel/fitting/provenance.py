"""Write which sources each learned number rests on: ``learned.json``, which ``perfmodel.learned`` reads."""

import json

from perfmodel.accuracy.provenance import collective_shares, transformer_shares
from perfmodel.evidence import COLLECTIVES, DATA_PARALLEL, TRANSFORMERS
from perfmodel.fitting.out_of_sample import shipped
from perfmodel.learned import RESULT
from perfmodel.writing import write_whole


def write() -> None:
    """Write it anew, whole or not at all; of data parallelism by the fits to all rows, a minute."""
    of_training = shipped()
    kinds = {
        TRANSFORMERS: transformer_shares(),
        COLLECTIVES: collective_shares(),
        DATA_PARALLEL: of_training.efficiency.shares() | of_training.scaling.shares(),
    }
    lines = ",\n".join(
        f' "{kind}": {{\n'
        + ",\n".join(f'  "{name}": {json.dumps(shares)}' for name, shares in numbers.items())
        + "\n }"
        for kind, numbers in kinds.items()
    )
    write_whole(RESULT, f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    write()
