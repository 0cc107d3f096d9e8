# Every command anybody needs. `make help` lists them.

PYTHON ?= python3
JOBS ?= 2
ROW ?= all
SEGMENT ?= tests/golden

BIN := .venv/bin
export ESKER_PROFILE

.DEFAULT_GOAL := help
.PHONY: help setup demo check style test bench bench-kafka campaign night format lock clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*##/\1:/p' $(MAKEFILE_LIST) | while IFS=: read -r name what; do \
	  printf 'make %-12s %s\n' "$$name" "$$what"; done

setup:  ## make .venv from the lock and build the native kernel; done in a moment the second time
	@$(PYTHON) tools/setup.py

demo: setup  ## show Esker at work on segment files that real Kafkas wrote, and beside aiokafka's compiled code
	@$(BIN)/esker demo $(SEGMENT)
	@printf '\n== beside the compiled code of aiokafka, and a copy of the same bytes (limit)\n'
	@$(BIN)/python -m bench kernel-check,kernel-decode

style: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	@tools/rust-style

check: ESKER_PROFILE = quick
check: style  ## format, lint, types, imports, tidy, unit and quick property tests; under a minute
	$(BIN)/pytest -n $(JOBS) tests/tidy tests/unit tests/property

test: ESKER_PROFILE = test
test: style  ## everything, as CI runs it; the skips are named and counted at the end
	$(BIN)/pytest -n $(JOBS)

bench: setup  ## measure against peers and limits: make bench, make bench ROW=kernel-check,kernel-decode
	$(BIN)/python -m bench $(ROW)

bench-kafka: setup  ## measure beside a real Kafka, fetched through Maven: make bench-kafka ROW=log-check
	$(BIN)/python -m bench --kafka $(ROW)

campaign: ESKER_PROFILE = campaign
campaign: style  ## the long profiles of the same tests, at most 90 minutes
	$(BIN)/pytest -n $(JOBS)

night: ESKER_PROFILE = night
night: style  ## the longest profiles, for a machine left alone overnight
	$(BIN)/pytest -n $(JOBS)

format: setup  ## format Python and Rust sources and mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	@tools/rust-style --mend

lock:  ## remake requirements/dev.lock from pyproject.toml (needs uv)
	uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --extra dev \
	  --custom-compile-command 'make lock' --output-file requirements/dev.lock pyproject.toml

clean:  ## remove everything that make made
	rm -rf .venv build native/target src/esker/kernel/_native*.so
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests bench tools -name __pycache__ -type d -prune -exec rm -rf {} +
