# Two commands to start: `make demo` and `make test`. Both make or update .venv first, and are quick when it is current.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
# Benchmarks and papers use the real data sets of a mirror beside the project; tests never do.
ifneq ($(wildcard ../shared/data),)
bench race papers: export LEAKSCOPE_DATA ?= $(abspath ../shared/data)
endif

.PHONY: help demo test test-data check fix bench race papers docs schema golden clean

help:            ## list the commands
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

demo: $(VENV)/core      ## train a model, audit it, print the verdict, write demo/audit/report.html
	$(BIN)/leakscope demo --out demo

test: $(VENV)/all check ## every check and every test that needs no data set
	$(BIN)/pytest --numprocesses 2 --dist worksteal --durations 30 -m "not slow and not data"

test-data: $(VENV)/all  ## the tests on real data; LEAKSCOPE_DATA names the folder that holds them
	@test -d "$(LEAKSCOPE_DATA)" || { echo "make test-data: set LEAKSCOPE_DATA to a folder that holds the data sets" >&2; exit 2; }
	$(BIN)/pytest --numprocesses 2 --dist worksteal -m "data and not slow"

check: $(VENV)/all      ## style, layers and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
	$(BIN)/mypy

fix: $(VENV)/all        ## mend style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/all      ## speed, as ratios in one run
	$(BIN)/python -m benchmarks

race: $(VENV)/all       ## strength, verdicts and cost of the default audit, against sacroml and ART in environments of their own
	$(BIN)/python -m benchmarks.race

papers: $(VENV)/all     ## every figure of the papers at full scale, into papers-out/; run it again after an interruption
	$(BIN)/leakscope reproduce --all --out papers-out --cache papers-out/cache

docs: $(VENV)/all       ## the documentation, into docs/_build/html; a warning is an error
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -b html docs docs/_build/html

schema: $(VENV)/all     ## write the JSON schema of every kind of result to docs/schema/
	$(BIN)/python -c "from leakscope.record.schema import write_schemas; write_schemas('docs/schema')"

golden: $(VENV)/all     ## write the golden text of every kind of document to tests/surfaces/golden/
	cd tests && ../$(BIN)/python -m surfaces.golden

clean:           ## remove what make made
	rm -rf $(VENV) .race demo build dist docs/_build docs/_made src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

$(VENV)/core: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $@

# The pinned torch comes first and by itself: asked for by another package it would bring gigabytes of CUDA.
$(VENV)/all: $(VENV)/core
	$(PIP) torch==$$(sed -n 's/^torch==//p' constraints.txt)
	$(PIP) --editable ".[torch,cluster,onnx,plot,arrow,docs,dev]"
	npm install --silent --no-audit --no-fund --prefix $(VENV)/axe axe-core@4.14.0 || echo "no npm: the tests of the page's accessibility will be skipped"
	touch $@
