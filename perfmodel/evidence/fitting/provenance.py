"""Write ``learned.json``: the sources that determine each learned number."""

import json

from perfmodel.core.files.writing import write_whole
from perfmodel.evidence.accuracy.report.provenance_section import collective_shares, transformer_shares
from perfmodel.evidence.fitting.out_of_sample import shipped
from perfmodel.model.fitted.learned import RESULT
from perfmodel.model.fitted.ledger_scales import COLLECTIVES, DATA_PARALLEL, TRANSFORMERS


def write() -> None:
    """Compute the sources of each learned number and write ``learned.json``; takes a minute.

    Raises
    ------
    InputError : the file cannot be written; it is then unchanged
    """
    of_training = shipped()
    kinds = {
        TRANSFORMERS: transformer_shares(),
        COLLECTIVES: collective_shares(),
        DATA_PARALLEL: of_training.efficiency.shares()
        | of_training.scaling.shares()
        | of_training.stragglers.shares(),
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
