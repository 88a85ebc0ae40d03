# Two commands do everything: `make demo` and `make test`. Each creates .venv when it is missing.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TESTS ?= tests
WORKERS ?= 2

.PHONY: help demo test check fmt errors bench whole cover figures dist clean

CHECKED := src tests bench examples tools

help: ## List the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "OmniGraph needs Python 3.11 or newer; run: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing pinned dependencies into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(STAMP)

demo: $(STAMP) ## Run the main job on an embedded graph and print what it did
	@$(BIN)/python examples/demo.py

check: $(STAMP) ## Format, lint, types, layers, figures
	@$(BIN)/ruff format --check $(CHECKED)
	@$(BIN)/ruff check $(CHECKED)
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python tools/figures.py --check

fmt: $(STAMP) ## Format and fix what can be fixed
	@$(BIN)/ruff format $(CHECKED)
	@$(BIN)/ruff check --fix $(CHECKED)

test: check ## Everything that must be green
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(TESTS)

whole: check ## The tests with every sweep run whole (long)
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --whole $(TESTS)

errors: $(STAMP) ## Write the page of error codes out of the source
	@$(BIN)/python -m omnigraph.testing.error_page > docs/errors.md.new && mv docs/errors.md.new docs/errors.md

cover: $(STAMP) ## Branch coverage, with a floor for the write path and the policy
	@$(BIN)/python tools/cover.py $(WORKERS)

figures: $(STAMP) ## Measure vocabulary, names, sizes and import cycles against their bars
	@$(BIN)/python tools/figures.py --check

dist: $(STAMP) ## Build wheel, sdist and release notes: make dist TAG=v1.2.3
	@$(BIN)/python tools/release.py $(TAG)

bench: $(STAMP) ## Benchmarks; each prints a ratio to a baseline of the same run
	@$(BIN)/python -m bench

clean: ## Remove what the targets made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build
