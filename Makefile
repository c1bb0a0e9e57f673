# `make demo` needs Python 3.10 or newer with pip, and nothing installed before.
# One environment, .venv, with one of two installs: plain, as a user gets it, or dev, editable and with the tools.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PLAIN := $(VENV)/installed-plain
DEV := $(VENV)/installed-dev
PROVING := .venv-proofs
PROOF_PACKAGES ?= torch==2.13.0 transformers==5.24.0 accelerate==1.15.0 datasets==5.2.0 pillow==13.0.0
SHIPPED := $(shell find linter/shardlint rules/shardlint_rules -type f ! -name '*.pyc')

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore

.PHONY: help demo dev test proofs fuzz quality ruff format mypy pyright self bench bench-peers catalogue modality-table corpus corpus-tables \
        capture-table silence mutate clean
.DELETE_ON_ERROR:

help:
	@echo "make demo       install shardlint and show what it says about a small repo and about bugs in it"
	@echo "make test       run the tests"
	@echo "make proofs     run the proofs of the rules and all that needs torch, in an environment of their own"
	@echo "make fuzz       try COUNT inputs (10000) of SEED (0), made from the rules' examples and the files below CORPUS"
	@echo "make quality    ruff, mypy, pyright, and shardlint on itself"
	@echo "make bench      compare speed and memory with ruff, or on one tree: TREE=folder (see benchmarks/README.md)"
	@echo "make bench-peers  cost and findings of the slower peers, each in an environment of its own"
	@echo "make catalogue  write rules/README.md from the rules"
	@echo "make modality-table  SOURCES=folders: write the modality tables from the sources of the frameworks (without: downloads)"
	@echo "make corpus     CLONES=folder LABEL=1: run over pinned public code and compare with the verdicts (see corpus/README.md)"
	@echo "make capture-table  take the public incidents through capture and write corpus/capture.md"
	@echo "make silence    count in pinned public code what cannot be judged, and write corpus/silence.md"
	@echo "make mutate     CLONES=folder RULE=name: put defects into pinned public code and count what is caught (corpus/recall.jsonl)"
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
	@$(BIN)/python examples/show_bugs.py

test: $(DEV)
	$(BIN)/python -m pytest -n 2 --dist loadgroup

$(PROVING)/installed: pyproject.toml
	$(PYTHON) -m venv --clear $(PROVING)
	$(PROVING)/bin/python -m pip install --quiet --upgrade pip
	$(PROVING)/bin/pip install --quiet --editable '.[dev]' $(PROOF_PACKAGES)
	@touch $@

# What a rule says that torch does is shown here by torch itself, a proof at least for each rule that states one (`make
# test` takes a sample where torch is installed); the child that builds models runs for real.
proofs: $(PROVING)/installed
	$(PROVING)/bin/python -m pytest tests/proofs tests/minitrain tests/runtime tests/test_testing.py

COUNT ?= 10000
SEED ?= 0

fuzz: $(DEV)
	$(BIN)/python -m fuzzing --count $(COUNT) --seed $(SEED) $(if $(CORPUS),--corpus "$(CORPUS)")

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

mutate: $(DEV)
	$(BIN)/python -m corpus.mutate $(if $(CLONES),--clones "$(CLONES)") $(if $(RULE),--rule "$(RULE)")

corpus-tables: $(DEV)
	$(BIN)/python -m corpus --tables

silence: $(DEV)
	$(BIN)/python -m corpus.silence

capture-table: $(DEV)
	$(BIN)/python -m corpus.capture

clean:
	rm -rf $(VENV) $(PROVING) .venv-peers build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache fuzzing-found
	find linter rules tests benchmarks corpus examples fuzzing -name __pycache__ -type d -exec rm -rf {} +
