# make demo    install what is needed and make a first prediction
# make install what make test and make test-floors need; with --jobs=2 both at once
# make test    install what the tests need and run them all
# make test-floors   run them with the lowest versions that pyproject.toml declares, less those marked any_version; 10 cases of each
# make bench   hold what answers take against their budgets: ratios within one run, which other work hardly changes
# make report  hold the model against measured runs and write validation/report.md
# make readme  run the commands of the README, of the tutorials and of docs/systems.toml, and write what they print; the
#              answers of the service and the predictions of published recipes too
# make keywords  write the options of a scenario into the keywords of Python's functions
# make frozen  write the fingerprints of the suite's sample of frozen answers anew
# make man     write the manual page again, the format of quotes, and a page for each package
# make app     start the pages in a browser
# make docs    build the documentation into build/docs; a warning, or a link to nothing, is an error
# make licences   every package that perfmodel needs, with version and licence, into build/licences.csv
# make screenshots   pictures of every page, wide and narrow, light and dark, in build/screenshots

PYTHON ?= python3
VENV := .venv
FLOORS := .venv-floors
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# one more than cores: a quarter of the time tests wait for servers and browsers
WORKERS := $$(( $$(nproc) + 1 ))
# what one process compiles, the hundreds that tests start read
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo install test test-floors bench report leave-out readme keywords frozen man app screenshots docs licences lint clean

$(BIN)/python:
	@echo "first run: creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "perfmodel needs Python 3.11 or newer; set PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(BIN)/python pyproject.toml
	@echo "installing perfmodel into $(VENV)"
	@$(PIP) --editable .
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml
	@echo "installing perfmodel with what its tests need into $(VENV); the first time takes a minute or two"
	@$(PIP) --editable ".[dev,clients]"
	@touch $@ $(VENV)/.run

demo: $(VENV)/.run
	$(BIN)/perfmodel predict --gpus 32

install: $(VENV)/.dev $(FLOORS)/.dev

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

$(FLOORS)/.dev: pyproject.toml tests/floors.py
	@echo "installing perfmodel with its lowest versions into $(FLOORS); the first time takes some minutes"
	@$(PYTHON) -m venv --clear $(FLOORS)
	@$(PYTHON) -m tests.floors > $(FLOORS)/constraints.txt
	@$(FLOORS)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(FLOORS)/constraints.txt --editable ".[test]"
	@touch $@

test-floors: $(FLOORS)/.dev
	PERFMODEL_FLOORS=1 $(FLOORS)/bin/python -m pytest -n $$(nproc) --dist worksteal # they hardly wait

bench: $(VENV)/.dev
	$(BIN)/python -m pytest tests/benchmarks --benchmark-enable --benchmark-columns=median -n 0

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

report: $(VENV)/.dev
	$(BIN)/perfmodel validate --report validation/report.md --plots

leave-out: $(VENV)/.dev
	$(BIN)/perfmodel validate $(addprefix --leave-out ,source publisher network accelerator software fabric year:2024 year:2020 size) --learning-curve --jobs all --write validation/leave_out.csv

readme: $(VENV)/.dev
	$(BIN)/python -m tests.readme
	$(BIN)/python -m docs.site.systems
	$(BIN)/python -m docs.site.published_recipes
	$(BIN)/python -m docs.site.published_layouts
	$(BIN)/python -m tests.example_answers

keywords: $(VENV)/.dev
	$(BIN)/python -m tests.keywords

frozen: $(VENV)/.dev
	cd tests/frozen/files && $(abspath $(BIN))/perfmodel calibrate --data mine.csv --output mine.json
	cd tests/frozen/files && $(abspath $(BIN))/perfmodel calibrate --collectives all_reduce_perf.txt --node dgx-1v --accelerators-per-node 1 --nics 1 --output fabric.json
	$(BIN)/python -m tests.frozen sample

man: $(VENV)/.dev
	$(BIN)/python -m docs.site.man_page
	$(BIN)/python -m docs.site.quote_format
	$(BIN)/python -m docs.site.package_pages

app: $(VENV)/.dev
	$(BIN)/perfmodel app

screenshots: $(VENV)/.dev
	$(BIN)/python -m tests.browser.screenshots build/screenshots

$(VENV)/.docs: $(VENV)/.run pyproject.toml
	@echo "installing what the documentation is built with into $(VENV)"
	@$(PIP) --editable ".[docs]"
	@touch $@

docs: $(VENV)/.docs
	$(BIN)/python -m docs.site

licences: $(VENV)/.dev
	@mkdir -p build
	$(BIN)/python -m docs.site.dependencies > build/licences.csv

clean:
	rm -rf $(VENV) $(FLOORS) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
