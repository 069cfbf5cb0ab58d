# Two commands for a newcomer: `make demo` and `make test`. Both create .venv once.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
# One numerical thread a process: sites run side by side, and sums stay the same on every machine.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test lint check docs docs-build clean

demo: $(VENV)/.installed
	$(BIN)/medfed demo

test: $(VENV)/.installed
	$(BIN)/pytest

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Types, layers and doctests are read from the tree as it ships.
check: $(VENV)/.installed
	$(BIN)/python tests/packaging/check_shipped.py

docs: $(VENV)/.docs
	$(BIN)/zensical serve

docs-build: $(VENV)/.docs
	$(BIN)/zensical build --clean --strict

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[all,dev]"
	touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	touch $@

clean:
	rm -rf $(VENV) build dist site runs *.egg-info
