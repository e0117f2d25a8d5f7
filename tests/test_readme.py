"""The README and the tutorials show what their commands print today."""

from __future__ import annotations

import pytest

from tests.readme import PAGES, README, refreshed, refreshed_page


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
    assert "resnet50 on 3 x v100-sxm2-16gb, amp, batch 7 each" in shown
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
