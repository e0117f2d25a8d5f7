"""Tables of measurements."""

MESSAGES = {
    "table.cell": "{where}, column {column}: {cell!r}; expected {error}",
    "table.twice": "line 1: column {twice} is there twice",
    "table.cells": "line {line_num}: {count} cells; the header has {columns}",
    "table.not_csv": "line {line_num}: not CSV: {error}",
    "table.no_column": "line 1: no column {known}{more}; validation/README.md describes them",
    "table.no_submissions": "no submissions below the header line",
    "table.run_twice": "run_id {run_id!r} is also on line {lines}",
    "table.no_runs": "no runs below the header line",
    "table.world_size": "{where}, column world_size: {world_size}; expected {nodes} nodes x "
    "{accelerators_per_node} accelerators = {product}",
    "table.strategy": "{where}, column strategy: 'single' on {world_size} accelerators",
    "table.empty": "line 1: empty; expected a line of column names, e.g. {example}",
    "table.column_twice": "line 1: column {column} is there twice",
    "table.unknown_columns": "unknown columns {columns}",
    "table.no_column_of": "line 1: no column {known}; e.g. {example}",
    "table.no_result": "expected one of {known}, not {measured}",
    "table.no_workload": "no workload",
    "table.no_accelerator": "no accelerator or node",
    "table.range": "{quantity} {value:g}; expected {least:g} to {most:g}, in SI units",
    "table.cell_of": "column {column}: {cell!r}; expected {error}",
}
