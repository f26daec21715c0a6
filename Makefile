# Two commands for everyone: `make demo` and `make test`. Each makes its own environment in .venv.
.DEFAULT_GOAL := help
SHELL := /bin/bash
DEMO_OUT ?= demo
DEMO_FLAGS ?=
BIN := .venv/bin
# Compiled tests and modules are kept: compiling the tests takes each process of pytest a quarter of a minute.
unexport PYTHONDONTWRITEBYTECODE
# A file's tests stay in one process, for their fixtures; tests/conftest.py puts the long ones first.
PYTEST_WHOLE := $(BIN)/python -m pytest -n auto --maxprocesses 5 --dist loadfile --no-loadscope-reorder

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venv/.ready-demo ## build, run, score and show the bundled mini benchmark (offline once installed)
	@.ci/environment sandbox
	$(BIN)/edu-rag demo --out $(DEMO_OUT) $(DEMO_FLAGS)

test: .venv/.ready-dev ## run all tests
	@.ci/environment system
	$(PYTEST_WHOLE)

nightly: .venv/.ready-dev ## run all tests with their exhaustive forms
	@.ci/environment system
	EDU_RAG_NIGHTLY=1 $(PYTEST_WHOLE)

frameworks: .venv/.ready-dev ## run the tests with other frameworks, each in its own environment
	.ci/frameworks

# The parts run side by side. The tests take three processes: with two, a fifth of two cores was idle.
check: .venv/.ready-dev ## lint, types, contracts and the quick tests, in about a minute
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target check-code check-tests

check-code:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check-tests:
	$(BIN)/python -m pytest -n 3 --dist loadfile -m "not (browser or sandbox or model or process or slow)"

site: .venv/.ready-demo ## the board of the committed results, in site/; SITE_FLAGS="--dataset DIR" shows its questions
	$(BIN)/edu-rag board leaderboard/results --submissions submissions --out site $(SITE_FLAGS)

lint: .venv/.ready-dev check-code ## style, types, import contracts

# What .ci/run does between the environment and the tests: mypy and pip take a core each.
lint-and-wheel:
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target check-code check-wheel

check-wheel:
	.ci/wheel

format: .venv/.ready-dev ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: .venv/.ready-dev ## write the hashes that CI installs by, from constraints.txt
	.ci/lock

ci: ## what CI runs
	.ci/run

clean: ## remove the environment and what the demo wrote
	rm -rf .venv .venv-frameworks demo site dist build

.venv/.ready-demo: pyproject.toml constraints.txt .ci/environment
	.ci/environment demo

.venv/.ready-dev: pyproject.toml constraints.txt .ci/locked-dev.txt .ci/environment
	.ci/environment dev

.PHONY: help demo site test nightly frameworks check check-code check-tests check-wheel lint lint-and-wheel format lock ci clean
