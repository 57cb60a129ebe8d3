# Everything runs in .venv, which is made on first use and made anew when pyproject.toml changes.
#   make PYTHON=python3.12 test     another interpreter
#   make test PYTEST_ARGS='-k laplace'

# The first interpreter that is new enough; python3 if none is, so that the check below can say so.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && exit; \
	done; echo python3)
VENV := .venv
BIN := $(VENV)/bin
OLDEST := build/venv-oldest
JOBS ?= 2
PYTEST_ARGS ?=

export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Each worker runs one process: two workers with threaded linear algebra would fight over the cores.
# Compiled tests are kept, whatever the environment asks: without them each worker starts anew.
PYTEST = OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(1)/bin/python -m pytest -n $(JOBS) --dist worksteal \
	-p no:benchmark $(PYTEST_ARGS)

.DEFAULT_GOAL := help
.PHONY: help demo check test test-deep test-oldest mutants lint format bench docs deployments clean check-python

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

# Print a gdpbridge command, then run it.
show = echo '$$ gdpbridge $(1)' && $(BIN)/gdpbridge $(1) && echo

demo: $(VENV)/.stamp-base ## measure three mechanisms
	@$(call show,measure laplace --scale 0.5)
	@$(call show,measure icea --messages 20 --users 4)
	@$(call show,measure table examples/pairs.csv)

# The quick third of the suite: what most changes break first.
CHECKED = tests/unit tests/contract tests/expressions tests/extras_missing tests/sources

check: $(VENV)/.stamp-dev ## run the quick third of the test suite, in less than a minute
	$(call PYTEST,$(VENV)) -m 'not slow' $(CHECKED)

test: $(VENV)/.stamp-dev ## run the test suite, in some six minutes
	@echo "The suite takes about six minutes on two cores; 'make check' runs a third of it in one."
	$(call PYTEST,$(VENV))

test-deep: $(VENV)/.stamp-dev ## run the suite with every case of the long lists, and random tests far longer (hours)
	HYPOTHESIS_PROFILE=deep GDPBRIDGE_SPENDS=10000 GDPBRIDGE_KILLS=200 $(call PYTEST,$(VENV))

test-oldest: $(OLDEST)/.stamp ## run the test suite with the oldest supported versions
	$(call PYTEST,$(OLDEST))

lint: $(VENV)/.stamp-dev ## check style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports
	@if command -v tsc >/dev/null; then echo tsc; tsc -p jsconfig.json; \
		else echo "tsc is not installed: the types of the explorer's modules are not checked"; fi

format: $(VENV)/.stamp-dev ## put the code in the form that lint asks for
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

mutants: $(VENV)/.stamp-dev ## turn each rounding in what proves, and see that a test notices (half an hour)
	nice -n 15 $(BIN)/python tests/mutation/run.py

bench: $(VENV)/.stamp-bench ## run the benchmarks
	$(BIN)/python -m pytest benchmarks -o python_files='bench_*.py test_*.py' $(PYTEST_ARGS)

docs: $(VENV)/.stamp-docs ## build the documentation into docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

deployments: $(VENV)/.stamp-base ## check what published deployments claim, and make docs/deployments.md
	$(BIN)/python examples/deployments/make_page.py docs/deployments.md

clean: ## remove everything that was built
	rm -rf $(VENV) build dist docs/_build htmlcov .coverage .benchmarks .hypothesis \
		.pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find src tests docs -name __pycache__ -type d -prune -exec rm -rf {} +

check-python:
	@command -v $(PYTHON) >/dev/null || { \
		echo "gdpbridge needs Python 3.11 or newer, and there is no $(PYTHON) here:" \
			"name one with 'make PYTHON=/path/to/python3.11'." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "gdpbridge needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) -V 2>&1):" \
			"name another with 'make PYTHON=/path/to/python3.11'." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) cannot make a virtual environment: install its venv module" \
			"(on Debian and Ubuntu: apt install python3-venv)." >&2; exit 1; }

# The stamps say what is installed; each is touched last, so an interrupted install starts over.
$(VENV)/.stamp-base: pyproject.toml | check-python
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet -e .
	@touch $@

# The versions and hashes of requirements/lock.txt, where this interpreter has them all; else the newest allowed.
$(VENV)/.stamp-%: $(VENV)/.stamp-base requirements/lock.txt
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/lock.txt || \
		echo "requirements/lock.txt does not fit here: installing the newest versions allowed" >&2
	$(BIN)/python -m pip install --quiet -e '.[$*]'
	@touch $@

$(OLDEST)/.stamp: pyproject.toml requirements/oldest.txt | check-python
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet -e '.[test]' -c requirements/oldest.txt
	@touch $@
