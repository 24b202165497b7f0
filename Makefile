# Every target does by itself whatever set-up it lacks. PYTHON, HOST, PORT and EXTRAS can be set.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS ?= dev
HOST ?= 127.0.0.1
PORT ?= 7860
MINUTES ?= 10
SESSIONS ?= 100

.PHONY: run ask setup setup-dev setup-team test check bench cluster soak audit sbom clean

run: setup
	@$(BIN)/advisor serve --host $(HOST) --port $(PORT)

ask: setup
	@$(BIN)/advisor ask "$$Q"
ask: export Q := $(value Q)

setup: $(VENV)/.installed

setup-dev: $(VENV)/.installed-dev

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	@echo "Installing into $(VENV) (once; a few minutes)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	@echo "Installing into $(VENV) with [$(EXTRAS)] (once; a few minutes)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$(EXTRAS)]'
	@touch $@ $(VENV)/.installed

# Tests that start servers, browsers and databases run one by one, after the others.
SERVERS := tests/cluster tests/e2e tests/faults

test: check
	@$(BIN)/python -m pytest -n 2 --dist loadfile $(SERVERS:%=--ignore=%)
	@$(BIN)/python -m pytest $(SERVERS)

check: setup-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: setup-dev
	@for script in tests/bench/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

# Postgres, Chroma, nginx and two web processes as plain processes on this machine: starts, tests and stops them.
cluster: setup-team
	@command -v nginx >/dev/null 2>&1 && ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || \
	  echo "Without Debian's packages postgresql and nginx some of this is skipped: apt-get install postgresql nginx"
	@$(BIN)/python -m pytest tests/cluster -v --durations=10

soak: setup-team
	@$(BIN)/python tests/cluster/soak.py --minutes $(MINUTES) --sessions $(SESSIONS)

setup-team: setup-dev
	@$(BIN)/python -c 'import psycopg, langgraph.checkpoint.postgres' 2>/dev/null || \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[team,deploy]'

audit: setup-dev
	@$(BIN)/python deploy/audit.py

sbom: setup-dev
	@$(BIN)/python deploy/sbom.py sbom.json

clean:
	@rm -rf $(VENV) build *.egg-info
