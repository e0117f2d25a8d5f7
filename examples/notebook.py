# %% [markdown]
"""A sweep as a folder of Parquet files, and one question to it in pandas, in polars and in DuckDB.

The question: of each accelerator and link, how many GPUs keep 80 % of their efficiency?
``python examples/notebook.py [FOLDER]`` runs it whole; an editor or Jupyter (jupytext) runs it cell by cell.
"""

# %%
from __future__ import annotations

import sys
import tempfile
from importlib.util import find_spec

import perfmodel

KEPT = 0.8


# %% Write the data set: all cores, in bounded memory; run again, it completes what is missing
def write(folder: str, jobs: int | None = None) -> str:
    """Write a sweep into a folder and return what to read."""
    sweep = perfmodel.sweep(
        workload="resnet50",
        accelerator=["v100-sxm2-16gb", "a100-sxm4-80gb"],
        gpus=range(8, 1025, 8),
        inter_link=["ethernet-25g-tcp", "ib-edr-100g"],
        columns=["accelerator", "inter_link", "gpus", "iteration_time", "scaling_efficiency"],
    )
    answer = sweep.to_dataset(folder, jobs=jobs)
    parts = f"{answer.parts} part{'' if answer.parts == 1 else 's'}"
    print(f"{answer.rows:,} rows in {parts}, {answer.continued} of which were there")
    return folder


# %% pandas: texts are categories; ``gpus`` stands under its full name, ``world_size``
def with_pandas(folder: str) -> dict[tuple[str, str], int]:
    """Answer by pandas, which reads a folder of Parquet files by pyarrow."""
    import pandas

    table = pandas.read_parquet(folder)
    good = table[table["scaling_efficiency"] >= KEPT]
    most = good.groupby(["accelerator", "inter_link"], observed=True)["world_size"].max()
    return {(str(chip), str(link)): int(gpus) for (chip, link), gpus in most.items()}


# %% polars: lazily, so that only the columns that matter are read
def with_polars(folder: str) -> dict[tuple[str, str], int]:
    """Answer by polars."""
    import polars

    most = (
        polars.scan_parquet(f"{folder}/*.parquet")
        .filter(polars.col("scaling_efficiency") >= KEPT)
        .group_by("accelerator", "inter_link")
        .agg(polars.col("world_size").max())
        .collect()
    )
    return {(chip, link): gpus for chip, link, gpus in most.rows()}


# %% DuckDB: in SQL, over files larger than memory
def with_duckdb(folder: str) -> dict[tuple[str, str], int]:
    """Answer by DuckDB."""
    import duckdb

    rows = duckdb.sql(
        f"""
        SELECT accelerator, inter_link, max(world_size)
        FROM '{folder}/*.parquet' WHERE scaling_efficiency >= {KEPT}
        GROUP BY accelerator, inter_link
        """
    ).fetchall()
    return {(chip, link): gpus for chip, link, gpus in rows}


# %% All three say the same
def main(folder: str, jobs: int | None = None) -> dict[str, dict[tuple[str, str], int]]:
    """Write the data set, ask whatever is installed, and return the answers."""
    readers = {"pandas": with_pandas, "polars": with_polars, "duckdb": with_duckdb}
    write(folder, jobs)
    answers = {name: reader(folder) for name, reader in readers.items() if find_spec(name)}
    for name, answer in answers.items():
        print(name)
        for (chip, link), gpus in sorted(answer.items()):
            print(f"  {chip} over {link}: {gpus} GPUs at {KEPT:.0%} or more")
    return answers


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(temporary)
