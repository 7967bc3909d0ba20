# The two main commands: `make lab` opens JupyterLab, `make test` checks everything.

PYTHON ?= python3
# `make test CONSTRAINTS=lowest` takes the lowest versions that pyproject.toml accepts,
# which need Python 3.11 or 3.12.
CONSTRAINTS ?=
PINNED := constraints$(addprefix -,$(CONSTRAINTS)).txt
VENV ?= .venv$(addprefix -,$(CONSTRAINTS))
BIN := $(VENV)/bin
LAB_READY := $(VENV)/ready-lab
DEV_READY := $(VENV)/ready-dev
VOILA_READY := $(VENV)/ready-voila
COURSE := notebooks/README.md

# The tests that run longer in `make soak` than in `make test`, and those that run only there.
SOAKED := $(shell grep -rlE "support.soak import|mark.soak" tests --include="test_*.py" \
	--exclude-dir=browser)

# The newest versions alone decide about lint, types and the browser.
TESTED := $(if $(CONSTRAINTS),unit,check unit browser)

# Arguments for the programs behind the targets, for example
#   make lab LAB_ARGS="--no-browser --port=9000"
LAB_ARGS ?=
VOILA_ARGS ?=
SANDBOX_ARGS ?=
PYTEST_ARGS ?=
SITE_ARGS ?=
# The number of test processes, for two cores: tests often wait.
WORKERS ?= 3
BROWSERS ?= 2
SOAKERS ?= 4

# The tests start hundreds of processes, which share compiled modules.
unexport PYTHONDONTWRITEBYTECODE

# Without a display, JupyterLab only prints its URL: it would otherwise start a browser in
# the terminal. Root needs an explicit flag.
SCREEN := $(DISPLAY)$(WAYLAND_DISPLAY)$(filter Darwin,$(shell uname -s))
LAB_FLAGS := --ip=127.0.0.1 \
	$(if $(SCREEN),,--no-browser) \
	$(if $(filter 0,$(shell id -u)),--allow-root)

.DEFAULT_GOAL := help
.PHONY: help lab voila test check unit soak soak-counts soak-browser browser pictures fix docs site \
	notebooks gallery sandbox bench constraints clean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' \
		$(firstword $(MAKEFILE_LIST))

lab: $(LAB_READY) ## Install dependencies and open the course in JupyterLab
	$(BIN)/jupyter lab $(LAB_FLAGS) --ServerApp.root_dir=. \
		--LabApp.default_url=/lab/tree/$(COURSE) $(LAB_ARGS)

voila: $(VOILA_READY) ## Serve the studio and the spend dashboard as pages
	$(BIN)/python -m mediakit.voila $(if $(SCREEN),,--no-browser) $(VOILA_ARGS)

test: $(DEV_READY) ## Check everything, as continuous integration does
	@echo "Checks, tests and browser tests run at the same time; each prints its output at its end."
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=target $(TESTED)

check: $(DEV_READY) ## Lint, types and import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy src tests tools
	$(BIN)/lint-imports

# Some tests run make, which must not believe that it is a part of this one.
unit: $(DEV_READY) ## Tests without a browser; the first notebook is executed
	MAKEFLAGS= $(BIN)/python -m pytest --ignore=tests/browser \
		-n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

soak: $(DEV_READY) ## Tests in full counts, rare cases in the browser, new environments
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target soak-counts soak-browser

soak-counts: $(DEV_READY)
	MAKEFLAGS= MEDIAKIT_SOAK=1 $(BIN)/python -m pytest -n $(SOAKERS) --dist worksteal \
		$(SOAKED) $(PYTEST_ARGS)

soak-browser: $(DEV_READY)
	@$(BIN)/python tools/find_chromium.py --install || true
	MEDIAKIT_SOAK=1 $(BIN)/python -m pytest tests/browser -n $(BROWSERS) \
		--dist worksteal $(PYTEST_ARGS)

browser: $(DEV_READY) ## Tests in JupyterLab and a real Chromium
	@$(BIN)/python tools/find_chromium.py --install || true
	$(BIN)/python -m pytest tests/browser -n $(BROWSERS) --dist worksteal $(PYTEST_ARGS)

pictures: browser soak-browser ## Make the README's pictures from the browser tests' screenshots
	$(BIN)/python tools/readme_pictures.py

fix: $(DEV_READY) ## Fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DEV_READY) ## Generate docs/reference.md and docs/wording.md
	$(BIN)/python tools/write_reference.py
	$(BIN)/python tools/write_wording.py

site: $(DEV_READY) ## Build the documentation site in build/site; notebooks are executed
	$(BIN)/sphinx-build --fail-on-warning --keep-going -c docs -d build/site-cache \
		$(SITE_ARGS) . build/site

notebooks: $(DEV_READY) ## Execute every notebook and check its format
	$(BIN)/python -m pytest tests/packaging/test_notebooks.py $(PYTEST_ARGS)
	MEDIAKIT_SOAK=1 $(BIN)/python -m pytest tests/packaging/test_notebooks.py $(PYTEST_ARGS)

gallery: $(DEV_READY) ## Export the executed notebooks as HTML to build/gallery
	MEDIAKIT_HOME=$(CURDIR)/build/gallery-home $(BIN)/jupyter nbconvert \
		--execute --to html --output-dir build/gallery notebooks/*.ipynb

sandbox: $(LAB_READY) ## Run the sandbox on its own and print its URL
	$(BIN)/python -m mediakit.sandbox $(SANDBOX_ARGS)

bench: $(DEV_READY) ## Run every benchmark
	@for script in benchmarks/*.py; do \
		if [ -e "$$script" ]; then $(BIN)/python "$$script" || exit 1; fi; done

constraints: ## Update both files of constraints to the newest and the lowest versions
	$(call freeze,constraints.txt)
	$(PYTHON) tools/write_floors.py > build/floors.txt
	$(call freeze,constraints-lowest.txt,--constraint build/floors.txt)

clean: ## Remove build results and caches, but not the environment
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache .coverage
	find src tests tools benchmarks -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@command -v $(PYTHON) > /dev/null || { \
		echo "$(PYTHON) was not found; set it: make PYTHON=/path/to/python3.12"; \
		exit 1; }
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit( \
		"mediakit needs Python 3.11 or newer, and $(PYTHON) is " \
		+ sys.version.split()[0] \
		+ "; set another: make PYTHON=/path/to/python3.12")'
	$(PYTHON) -m venv $(VENV)

$(LAB_READY): pyproject.toml $(PINNED) tools/lab_overrides.json | $(VENV)/bin/python
	$(call install,lab)
	mkdir -p $(VENV)/share/jupyter/lab/settings
	cp tools/lab_overrides.json $(VENV)/share/jupyter/lab/settings/overrides.json
	@touch $@

# Tests use the command of jupytext. Its extension would show text files as notebooks.
$(DEV_READY): $(LAB_READY)
	$(call install,dev)
	rm -rf $(VENV)/etc/jupyter/jupyter_*_config.d/jupytext.json \
		$(VENV)/share/jupyter/labextensions/jupyterlab-jupytext
	@touch $@

$(VOILA_READY): $(LAB_READY)
	$(call install,voila)
	@touch $@

define install
$(BIN)/python -m pip install --quiet --upgrade pip
$(BIN)/python -m pip install --quiet --constraint $(PINNED) --editable '.[$(1)]'
endef

define freeze
rm -rf build/constraints
$(PYTHON) -m venv build/constraints
build/constraints/bin/pip install --quiet --upgrade pip
build/constraints/bin/pip install --quiet $(2) '.[dev]' \
	$$(sed -n '/^[a-z]/p' binder/requirements.txt)
build/constraints/bin/pip freeze --exclude mediakit > $(1)
rm -rf build/constraints
endef
