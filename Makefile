# `make demo` and `make test` are the README's two commands; the others are for maintainers.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test check bench notebook picture dist clean

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(READY)
	$(BIN)/fsl-sweep run sweeps/quickstart.yaml

# With bytecode even where the environment turns it off, as images do: dozens of processes start.
test: $(READY)
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest --numprocesses=logical --dist=loadgroup --no-loadscope-reorder

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python tests/floors.py

bench: $(READY)
	$(BIN)/python -m benchmarks

notebook: $(READY)
	$(BIN)/python tests/notebook.py

# Of the README, from a run of the demo. After a change of words `python tests/picture.py` is enough.
picture: demo
	$(BIN)/python tests/picture.py runs/quickstart

dist: $(READY)
	$(BIN)/python -m build --outdir dist

clean:
	rm -rf $(VENV) build dist *.egg-info
