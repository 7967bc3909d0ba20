# Two commands: `make lab` to work, `make test` to know that all is well.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
LAB_READY := $(VENV)/ready-lab
DEV_READY := $(VENV)/ready-dev
QUICKSTART := notebooks/01_quickstart.ipynb

# The tests that try more in `make soak` than in `make test`.
SOAKED := $(shell grep -rl "support.soak import" tests --include="test_*.py")

# Arguments for the programs behind the targets, for example
#   make lab LAB_ARGS="--no-browser --port=9000"
LAB_ARGS ?=
SANDBOX_ARGS ?=
PYTEST_ARGS ?=
# Processes of tests, for two cores: most of the time, tests wait.
WORKERS ?= 3
BROWSERS ?= 2
SOAKERS ?= 4

# The tests start hundreds of processes: let each find what another one has compiled.
unexport PYTHONDONTWRITEBYTECODE

# Without a screen JupyterLab only prints its address: it would otherwise look for a
# browser in the terminal. The superuser has to say so.
SCREEN := $(DISPLAY)$(WAYLAND_DISPLAY)$(filter Darwin,$(shell uname -s))
LAB_FLAGS := --ip=127.0.0.1 \
	$(if $(SCREEN),,--no-browser) \
	$(if $(filter 0,$(shell id -u)),--allow-root)

.DEFAULT_GOAL := help
.PHONY: help lab test check unit soak browser pictures fix docs notebooks gallery sandbox bench \
	constraints clean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' \
		$(firstword $(MAKEFILE_LIST))

lab: $(LAB_READY) ## Install what is needed and open the quickstart in JupyterLab
	$(BIN)/jupyter lab $(LAB_FLAGS) --ServerApp.root_dir=. \
		--LabApp.default_url=/lab/tree/$(QUICKSTART) $(LAB_ARGS)

test: $(DEV_READY) ## Check everything, as the continuous integration does
	@echo "Checks, tests and browser tests run at once; each tells what it found at its end."
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=target check unit browser

check: $(DEV_READY) ## Lint, types and floors
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy src tests tools
	$(BIN)/lint-imports

# The tests run make themselves, which must not take itself for a part of this one.
unit: $(DEV_READY) ## Tests without a browser; every notebook is executed
	MAKEFLAGS= $(BIN)/python -m pytest --ignore=tests/browser -n $(WORKERS) --dist worksteal \
		$(PYTEST_ARGS)

soak: $(DEV_READY) ## Kill, drift and fuzz in full counts
	MEDIAKIT_SOAK=1 $(BIN)/python -m pytest -n $(SOAKERS) --dist worksteal \
		$(SOAKED) $(PYTEST_ARGS)

browser: $(DEV_READY) ## Tests in JupyterLab and a real Chromium
	@$(BIN)/python tools/find_chromium.py --install || true
	$(BIN)/python -m pytest tests/browser -n $(BROWSERS) --dist worksteal $(PYTEST_ARGS)

pictures: browser ## Make the README's pictures from what the browser tests saw
	$(BIN)/python tools/readme_pictures.py

fix: $(DEV_READY) ## Mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DEV_READY) ## Write docs/reference.md and docs/wording.md anew
	$(BIN)/python tools/write_reference.py
	$(BIN)/python tools/write_wording.py

notebooks: $(DEV_READY) ## Execute every notebook and check its form
	$(BIN)/python -m pytest tests/packaging/test_notebooks.py $(PYTEST_ARGS)

gallery: $(DEV_READY) ## Write the executed notebooks as pages to build/gallery
	MEDIAKIT_HOME=$(CURDIR)/build/gallery-home $(BIN)/jupyter nbconvert \
		--execute --to html --output-dir build/gallery notebooks/*.ipynb

sandbox: $(LAB_READY) ## Serve the sandbox alone; its address is printed
	$(BIN)/python -m mediakit.sandbox $(SANDBOX_ARGS)

bench: $(DEV_READY) ## Run every benchmark
	@for script in benchmarks/*.py; do \
		if [ -e "$$script" ]; then $(BIN)/python "$$script" || exit 1; fi; done

constraints: ## Write constraints.txt anew from the newest versions that fit
	rm -rf build/constraints
	$(PYTHON) -m venv build/constraints
	build/constraints/bin/pip install --quiet --upgrade pip
	build/constraints/bin/pip install --quiet '.[dev]' \
		$$(sed -n '/^[a-z]/p' binder/requirements.txt)
	build/constraints/bin/pip freeze --exclude mediakit > constraints.txt
	rm -rf build/constraints

clean: ## Remove what was built and cached; the environment stays
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache .coverage
	find src tests tools benchmarks -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@command -v $(PYTHON) > /dev/null || { \
		echo "There is no $(PYTHON) here; name one: make PYTHON=/path/to/python3.12"; \
		exit 1; }
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit( \
		"mediakit needs Python 3.11 or newer, and $(PYTHON) is " \
		+ sys.version.split()[0] \
		+ "; name another: make PYTHON=/path/to/python3.12")'
	$(PYTHON) -m venv $(VENV)

$(LAB_READY): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(call install,lab)
	mkdir -p $(VENV)/share/jupyter/lab/settings
	cp tools/lab_overrides.json $(VENV)/share/jupyter/lab/settings/overrides.json
	@touch $@

$(DEV_READY): $(LAB_READY)
	$(call install,dev)
	@touch $@

define install
$(BIN)/python -m pip install --quiet --upgrade pip
$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[$(1)]'
endef
