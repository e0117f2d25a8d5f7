"""The README and the tutorials show what their commands print today."""

from __future__ import annotations

import csv
import re
from statistics import fmean

import pytest

from perfmodel.evidence.accuracy.ledger.held_out import UNSEEN
from perfmodel.evidence.accuracy.transformers.transformer_compare import shipped_out_of_sample
from perfmodel.evidence.accuracy.transformers.transformer_section import SWEEP, by_neutral_priors
from perfmodel.model.fitted.learned import neutral_means
from perfmodel.model.fitted.ledger_scales import TRANSFORMERS
from tests.readme import PAGES, README, REPORT, refreshed, refreshed_page

ACCURACY = README.parent / "docs" / "accuracy"


def test_readme_shows_what_its_commands_print():
    text = README.read_text("utf-8")
    assert refreshed(text) == text, "run `make readme`"


@pytest.mark.any_version
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_its_commands_print(page):
    text = page.read_text("utf-8")
    assert refreshed_page(text) == text, "run `make readme`"


@pytest.mark.any_version
def test_a_page_runs_in_a_folder_with_the_files_that_it_shows():
    page = """```{code-block} toml
:caption: job.toml

gpus = 3
```

```console
$ perfmodel predict --scenario job.toml --local-batch-size 7
```

```pycon
>>> from pathlib import Path
>>> Path("job.toml").read_text().strip()
>>> for n in range(2):
...     print(n)
```
"""
    shown = refreshed_page(page)
    assert "ResNet-50 on 3 x V100 SXM2 16 GB, amp, batch 7 each" in shown
    assert shown.endswith(
        """>>> Path("job.toml").read_text().strip()
'gpus = 3'
>>> for n in range(2):
...     print(n)
0
1
```
"""
    )
    assert refreshed_page(shown) == shown


@pytest.mark.any_version
@pytest.mark.parametrize(
    "page",
    [README, ACCURACY / "measured-runs.md", ACCURACY / "how-to-read-an-interval.md"],
    ids=lambda page: page.name,
)
def test_pages_with_the_accuracy_table_say_which_bar_is_missed(page):
    missed = re.findall(r": ((?:mean|median) [\d.]+ %, bar [\d.]+ %)(?! to)", REPORT.read_text("utf-8"))
    words = " ".join(page.read_text("utf-8").split())
    assert len(missed) == 2
    assert all(each in words for each in missed)


@pytest.mark.any_version
def test_limits_say_what_the_report_says_of_tuned_code():
    def mean(line: str) -> str:
        rows = [each for each in REPORT.read_text("utf-8").splitlines() if each.startswith(f"| {line} |")]
        return rows[0].split("|")[4].strip()

    words = " ".join((ACCURACY / "limits.md").read_text("utf-8").split())
    specs, anchored = (mean(f"MLPerf, {mode}, to 64 accelerators *") for mode in ("from specs", "anchored"))
    assert f"on up to 64 accelerators are missed by {specs} from specs" in words
    assert f"anchored, they are missed by {anchored}." in words


@pytest.mark.any_version
def test_what_sources_in_no_fit_are_missed_by_is_what_the_report_was_made_of():
    runs = README.parent / "validation" / "measured" / "training_runs.csv"
    with runs.open(encoding="utf-8") as file:
        known = {row["run_id"]: (row["source"], row["trust"][0]) for row in csv.DictReader(file)}
    errors = {}
    with (REPORT.parent / "out_of_sample.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            source, trust = known[row["run_id"]]
            if trust in "AB" and not row["reason"]:
                error = abs(
                    float(row["predicted_iteration_time"]) / float(row["measured_iteration_time"]) - 1
                )
                errors.setdefault((row["mode"], source in UNSEEN), []).append(100 * error)
    specs, others, anchored = (errors[key] for key in (("specs", True), ("specs", False), ("anchored", True)))
    words = " ".join((ACCURACY / "measured-runs.md").read_text("utf-8").split())
    assert (
        f"their {len(specs)} runs are missed by {fmean(specs):.1f} % (mean; the {len(others):,} others by "
        f"{fmean(others):.1f}), anchored their {len(anchored)} by {fmean(anchored):.1f}."
    ) in words
    assert all(f"`{source}`" in words for source in UNSEEN)


@pytest.mark.any_version
@pytest.mark.refits
def test_readme_leads_with_means_over_sources_and_names_what_one_source_shaped():
    """By the ledger's table, the summary of the rows, and by neutral priors."""
    text = README.read_text("utf-8")
    words = " ".join(text.split())
    assert text.index("<!-- ledger -->") < text.index("<!-- accuracy -->")
    every = shipped_out_of_sample()[0].summary
    table, neutral = every["by"]["source"][SWEEP], by_neutral_priors()
    assert f"with a mean error of {every['all']['mean_over_sources']:.1%}".replace("%", " %") in words
    by_run = (
        f"By run it is {every['all']['mean_absolute_error']:.1%}, but {table['n'] / every['all']['n']:.0%}"
    )
    assert by_run.replace("%", " %") in words
    assert len(neutral_means(TRANSFORMERS)) == 13
    assert "Thirteen priors rest on one source each" in words
    assert "(validation/report.md#numbers-that-rest-on-one-source)" in words
    over_sources, by_row = neutral["mean_over_sources"], neutral["mean_absolute_error"]
    of_all = f"the mean is {over_sources:.1%} over sources and {by_row:.1%} by run"
    without = 100 * neutral["by_source"][SWEEP]["mean_absolute_error"]
    of_table = f"{without:.1f} instead of {table['mean_absolute_error']:.1%}"
    assert of_all.replace("%", " %") in words
    assert of_table.replace("%", " %") in words
