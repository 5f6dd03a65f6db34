# Needs only make and a Python >= 3.11 with venv and pip. Another interpreter: make test PYTHON=python3.12

PYTHON ?= python3
BIN := .venv/bin

# What Python compiles is kept: many tests start processes, and each would compile NumPy, SciPy and the rest again.
unexport PYTHONDONTWRITEBYTECODE

# One BLAS thread per worker: workers with a thread per core each would fight over the cores. A third worker uses what
# two cores leave idle while tests wait for processes, databases and browsers.
PYTEST := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist worksteal

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test thorough docs dist bench rivals defaults format clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: .venv/.stamp-cli ## run the demonstration and write its files to demo-output/
	$(BIN)/stableopt demo --out demo-output

test: .venv/.stamp-dev ## lint, check the types and run the tests of every promise
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST)

thorough: .venv/.stamp-dev ## run the tests that repeat promises: further seeds, settings and databases
	$(PYTEST) -m thorough

# What is published is tried as a user gets it: the wheel in a fresh environment, then the sdist in its place.
dist: .venv/.stamp-dev ## build a wheel and an sdist in dist/, and try both in a fresh environment
	rm -rf dist
	$(BIN)/python -m build --quiet .
	$(BIN)/twine check --strict dist/*
	rm -rf build/fresh && $(BIN)/python -m venv build/fresh
	build/fresh/bin/python -m pip install --quiet --no-compile dist/*.whl && build/fresh/bin/python -P .ci/smoke.py
	build/fresh/bin/python -m pip install --quiet --force-reinstall --no-deps dist/*.tar.gz && build/fresh/bin/python -P .ci/smoke.py

docs: .venv/.stamp-dev ## build the site from docs/ into site/; a warning, a dead link or a missing name is an error
	rm -rf site
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs site
	rm -rf jupyter_execute  # what the notebook printed, which is in the site now
	$(BIN)/python docs/check.py site

bench: .venv/.stamp-bench ## run the benchmarks (a quarter of an hour; movie ratings are downloaded)
	$(BIN)/python -m benchmarks

rivals: .venv-rivals/.stamp ## compare with BoTorch, in an environment of its own (hours)
	.venv-rivals/bin/python -m benchmarks.rivals speed
	.venv-rivals/bin/python -m benchmarks.rivals regret --out rivals-output

defaults: .venv/.stamp-bench ## measure the choices behind the defaults (two hours)
	$(BIN)/python -m benchmarks.defaults
	$(BIN)/python -m benchmarks.drawn

format: .venv/.stamp-dev ## format the code and apply the safe fixes
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

clean: ## remove what the other targets wrote (.venv stays)
	rm -rf build dist site demo-output rivals-output defaults-output field-output .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -path './.venv*' -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# .venv/.stamp-EXTRA: that extra is installed, for this version of pyproject.toml.
.venv/.stamp-%: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[$*]'  # modules are compiled when they are used
	@touch $@

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "stableopt needs Python 3.11 or newer, but '$(PYTHON)' is not. Name another one: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

.venv-rivals/.stamp: benchmarks/rivals/requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv-rivals
	.venv-rivals/bin/python -m pip install --quiet -r benchmarks/rivals/requirements.txt -e .
	@touch $@
