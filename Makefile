# Two commands do all the set-up on a fresh machine: `make demo` and `make test`.
# They need python3 (3.11 or newer, with venv) and gcc; everything else goes into $(VENV).

VENV   ?= .venv
PYTHON ?= python3
EXTRAS ?= parquet,html
JOBS   ?= 2
BIN    := $(VENV)/bin

# stamps: the second call of any target installs nothing
CORE := $(VENV)/.core-installed
comma := ,
DEV  := $(VENV)/.dev-$(subst $(comma),-,$(EXTRAS))-installed

.PHONY: help demo test lint docs bench format changelog picture clean
.DEFAULT_GOAL := help

help:
	@echo 'make demo       train four real workers, find what is slow, change it, prove the gain'
	@echo 'make test       format, lint, types, import contracts, docs, tests, coverage'
	@echo 'make lint       only the first four'
	@echo 'make format     put the code into the format that lint asks for'
	@echo 'make docs       build the documentation into site/'
	@echo 'make bench      measure and write BENCHMARKS.md (ONLY=name for one section)'
	@echo 'make changelog  write changes/*.md into CHANGELOG.md (RELEASE=0.2.0 closes a version)'
	@echo 'make picture    draw the picture of the README again'
	@echo 'make clean      remove what the other targets made'

# torch only where a CPU build is offered (elsewhere the same words fetch gigabytes for CUDA);
# without it the demo looks at a recording
demo: $(CORE)
	@$(BIN)/python -c 'import torch' 2>/dev/null || case "$$($(BIN)/pip install --quiet --dry-run \
	  --no-deps --report - 'torch>=2.13,<2.14' 2>/dev/null)" in \
	  *+cpu*) $(BIN)/pip install --quiet --editable '.[html,torch]' ;; esac
	@$(BIN)/paceline demo

test: lint docs
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -q -n $(JOBS) --no-header \
	  --cov --cov-report= tests/unit tests/property
	$(BIN)/python tests/coverage_gate.py
	$(BIN)/pytest -n $(JOBS)

lint: $(DEV)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports --no-cache

# not --quiet: it would hide the warnings that --strict counts
docs: $(DEV)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

format: $(DEV)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(DEV)
	$(BIN)/python bench/run.py $(ONLY)

changelog:
	$(PYTHON) changes/fold.py $(RELEASE)

picture: $(CORE)
	$(BIN)/python docs/images/draw.py

clean:
	rm -rf $(VENV) .venv-ci .venv-peers site dist build .coverage .coverage.* htmlcov
	rm -rf .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo 'paceline needs Python 3.11 or newer: make PYTHON=python3.12 ...' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade 'pip>=25.1'

$(CORE): pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable .
	@touch $@

$(DEV): pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/pip install --quiet --editable '.[$(EXTRAS)]' --group test --group lint --group docs
	@touch $@ $(CORE)
