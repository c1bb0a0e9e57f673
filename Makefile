# `make demo` needs Python 3.10 or newer with pip, and nothing installed before.
# One environment, .venv, with one of two installs: plain, as a user gets it, or dev, editable and with the tools.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PLAIN := $(VENV)/installed-plain
DEV := $(VENV)/installed-dev
PROVING := .venv-proofs
PROOF_PACKAGES ?= torch==2.13.0 transformers==5.24.0
SHIPPED := $(shell find linter/shardlint rules/shardlint_rules -type f ! -name '*.pyc')

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore

.PHONY: help demo dev test proofs quality ruff format mypy pyright self bench bench-peers catalogue modality-table corpus corpus-tables clean
.DELETE_ON_ERROR:

help:
	@echo "make demo       install shardlint and lint a small repo with planted mistakes"
	@echo "make test       run the tests"
	@echo "make proofs     run the tests that need torch and transformers, in an environment of their own"
	@echo "make quality    ruff, mypy, pyright, and shardlint on itself"
	@echo "make bench      compare speed and memory with ruff, or on one tree: TREE=folder (see benchmarks/README.md)"
	@echo "make bench-peers  cost and findings of the slower peers, each in an environment of its own"
	@echo "make catalogue  write rules/README.md from the rules"
	@echo "make modality-table  SOURCES=folders: write the modality tables from the sources of the frameworks (without: downloads)"
	@echo "make corpus     CLONES=folder LABEL=1: run over pinned public code and compare with the verdicts (see corpus/README.md)"
	@echo "make clean      remove the environment, builds and caches"

# pip comes last when an environment is made, so a half-made one is made again.
# The pip of the venv may be years old, and its console scripts import what ours does not need.
$(BIN)/pip:
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(PLAIN): pyproject.toml README.md $(SHIPPED) | $(BIN)/pip
	@rm -f $(DEV)
	$(BIN)/pip install --quiet .
	@touch $@

$(DEV): pyproject.toml | $(BIN)/pip
	@rm -f $(PLAIN)
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@

dev: $(DEV)

demo: $(PLAIN)
	@echo '$$ cd examples/planted && shardlint check'
	@cd examples/planted; ../../$(BIN)/shardlint check; code=$$?; echo; \
	case $$code in \
	    1) echo "Exit code 1: there are findings. That is what this demo is for." ;; \
	    0) echo "Exit code 0: no findings, but the demo has planted mistakes."; exit 1 ;; \
	    *) echo "Exit code $$code: the run itself failed."; exit 1 ;; \
	esac

test: $(DEV)
	$(BIN)/python -m pytest -n 2 --dist loadgroup

$(PROVING)/installed: pyproject.toml
	$(PYTHON) -m venv --clear $(PROVING)
	$(PROVING)/bin/python -m pip install --quiet --upgrade pip
	$(PROVING)/bin/pip install --quiet --editable '.[dev]' $(PROOF_PACKAGES)
	@touch $@

# What a rule says that torch does is shown here by torch itself; the child that builds models runs for real.
proofs: $(PROVING)/installed
	$(PROVING)/bin/python -m pytest tests/proofs tests/runtime tests/test_testing.py

quality: ruff format mypy pyright self

ruff: $(DEV)
	$(BIN)/ruff check

format: $(DEV)
	$(BIN)/ruff format --check

mypy: $(DEV)
	$(BIN)/mypy

pyright: $(DEV)
	$(BIN)/pyright --pythonpath $(BIN)/python

self: $(DEV)
	$(BIN)/shardlint check

bench: $(DEV)
	$(BIN)/python -m benchmarks $(if $(TREE),tree "$(TREE)",rounds) $(if $(CORPUS),--folder "$(CORPUS)")

bench-peers: $(DEV)
	$(BIN)/python -m benchmarks peers $(if $(CORPUS),--folder "$(CORPUS)")

catalogue: $(DEV)
	$(BIN)/python -m shardlint rules --catalogue > $(VENV)/catalogue.md
	mv $(VENV)/catalogue.md rules/README.md

modality-table: $(DEV)
	PYTHONPATH=rules $(BIN)/python -m modality_table $(SOURCES)

corpus: $(DEV)
	$(BIN)/python -m corpus $(if $(CLONES),--clones "$(CLONES)") $(if $(LABEL),--label) $(if $(BLIND),--blind "$(BLIND)")

corpus-tables: $(DEV)
	$(BIN)/python -m corpus --tables

clean:
	rm -rf $(VENV) $(PROVING) .venv-peers build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find linter rules tests benchmarks -name __pycache__ -type d -exec rm -rf {} +
