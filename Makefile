# The two main commands: `make lab` opens JupyterLab, `make test` checks everything.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
COURSE := notebooks/README.md

# `make test SOAK=1` runs every test, in full counts, with the packages that this needs.
SOAK ?=
READY := $(VENV)/ready-$(if $(SOAK),soak,dev)
TYPED := src $(if $(SOAK),tests tools examples/product_clips/src)

# Arguments for the programs behind the targets, for example
#   make lab LAB_ARGS="--no-browser --port=9000"
LAB_ARGS ?=
VOILA_ARGS ?=
SANDBOX_ARGS ?=
PYTEST_ARGS ?=
SITE_ARGS ?=
# The number of test processes, for two cores: tests often wait.
WORKERS ?= 5

# The tests start hundreds of processes, which share compiled modules.
unexport PYTHONDONTWRITEBYTECODE

# Without a display, JupyterLab only prints its URL: it would otherwise start a browser in
# the terminal. Root needs an explicit flag.
SCREEN := $(DISPLAY)$(WAYLAND_DISPLAY)$(filter Darwin,$(shell uname -s))
LAB_FLAGS := --ip=127.0.0.1 \
	$(if $(SCREEN),,--no-browser) \
	$(if $(filter 0,$(shell id -u)),--allow-root)

.DEFAULT_GOAL := help
.PHONY: help lab voila test soak check check-at-once tests pictures fix docs site gallery sandbox dist bench \
	constraints clean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' \
		$(firstword $(MAKEFILE_LIST))

lab: $(VENV)/ready-lab ## Install dependencies and open the course in JupyterLab
	$(BIN)/jupyter lab $(LAB_FLAGS) --ServerApp.root_dir=. \
		--LabApp.default_url=/lab/tree/$(COURSE) $(LAB_ARGS)

voila: $(VENV)/ready-voila ## Serve the studio and the spend dashboard as pages
	$(BIN)/python -m mediakit.voila $(if $(SCREEN),,--no-browser) $(VOILA_ARGS)

test: $(READY) ## Check everything, every behaviour once
	@echo "Lint and types are checked while the tests run, and printed when they are done."
	@$(MAKE) --no-print-directory --jobs=2 check-at-once tests

soak: ## Check everything in full counts, with new environments, the site and the course
	@$(MAKE) --no-print-directory test SOAK=1

check: $(READY) ## Lint, types and import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(TYPED)
	$(BIN)/lint-imports

# Its output would else come between the dots of the tests.
check-at-once:
	@$(MAKE) --no-print-directory --output-sync=target check

# Some tests run make, which must not believe that it is a part of this one. A test that
# hangs fails, and one that fails is run once more, alone.
tests: $(READY) ## The tests alone, in a real browser too
	@$(BIN)/python tools/find_chromium.py --install || true
	MAKEFLAGS= MEDIAKIT_SOAK=$(SOAK) $(BIN)/python -m tools.run_tests \
		-n $(WORKERS) --dist loadgroup --timeout 900 $(PYTEST_ARGS)

pictures: ## Make the README's pictures from the browser tests' screenshots
	@$(MAKE) --no-print-directory tests SOAK=1 PYTEST_ARGS=tests/browser
	$(BIN)/python tools/readme_film.py
	$(BIN)/python tools/readme_pictures.py

fix: $(READY) ## Fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(READY) ## Generate docs/reference.md and the maps in CONTRIBUTING.md
	$(BIN)/python tools/write_reference.py
	$(BIN)/python tools/write_maps.py

site: $(VENV)/ready-soak ## Build the documentation site in build/site; notebooks are executed
	$(BIN)/sphinx-build --fail-on-warning --keep-going -c docs -d build/site-cache \
		$(SITE_ARGS) . build/site

gallery: $(VENV)/ready-soak ## Export the executed notebooks as HTML to build/gallery
	MEDIAKIT_HOME=$(CURDIR)/build/gallery-home $(BIN)/jupyter nbconvert \
		--execute --to html --output-dir build/gallery notebooks/*.ipynb

sandbox: $(VENV)/ready-lab ## Run the sandbox on its own and print its URL
	$(BIN)/python -m mediakit.sandbox $(SANDBOX_ARGS)

# The packaging tests check what was built, instead of a build of their own.
dist: $(VENV)/ready-soak ## Build sdist and wheel in dist, check them, run a job with the wheel
	rm -rf dist
	$(BIN)/uv build --quiet --no-create-gitignore
	MAKEFLAGS= MEDIAKIT_SOAK=1 MEDIAKIT_DIST=$(CURDIR)/dist $(BIN)/python -m pytest \
		-n 2 --dist loadgroup --timeout 900 tests/packaging/test_build.py \
		tests/packaging/test_environments.py -k "not quick_tests and not an_extra"
	@ls -l dist

bench: $(READY) ## Run every benchmark
	@for script in benchmarks/*.py; do $(BIN)/python "$$script" || exit 1; done

constraints: ## Update both files of constraints to the newest and the lowest versions
	$(call freeze,constraints.txt)
	$(PYTHON) tools/write_floors.py > build/floors.txt
	$(call freeze,constraints-lowest.txt,--constraint build/floors.txt)

clean: ## Remove build results and caches, but not the environment
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache .coverage
	find src tests tools benchmarks -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/python:
	@command -v $(PYTHON) > /dev/null || { \
		echo "$(PYTHON) was not found; set it: make PYTHON=/path/to/python3.12"; \
		exit 1; }
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit( \
		"mediakit needs Python 3.11 or newer, and $(PYTHON) is " \
		+ sys.version.split()[0] \
		+ "; set another: make PYTHON=/path/to/python3.12")'
	$(PYTHON) -m venv $(VENV)

# One installation for each set of extras; Python compiles a module when it is first used.
# uv takes a tenth of pip's time; pip knows settings of its own, such as another index.
# JupyterLab would show text files as notebooks with the extension of jupytext.
$(VENV)/ready-%: INSTALL = $(BIN)/python -m pip install --quiet --no-compile \
	--disable-pip-version-check --constraint constraints.txt
$(VENV)/ready-%: PACKAGES = --constraint constraints.txt --editable '.[$*]'
$(VENV)/ready-%: pyproject.toml constraints.txt tools/lab_overrides.json | $(BIN)/python
	$(INSTALL) uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python $(PACKAGES) \
		|| $(INSTALL) $(PACKAGES)
	mkdir -p $(VENV)/share/jupyter/lab/settings
	cp tools/lab_overrides.json $(VENV)/share/jupyter/lab/settings/overrides.json
	rm -rf $(VENV)/etc/jupyter/jupyter_*_config.d/jupytext.json \
		$(VENV)/share/jupyter/labextensions/jupyterlab-jupytext
	@touch $@

define freeze
rm -rf build/constraints
$(PYTHON) -m venv build/constraints
build/constraints/bin/pip install --quiet --upgrade pip
build/constraints/bin/pip install --quiet $(2) '.[soak]' \
	$$(sed -n '/^[a-z]/p' binder/requirements.txt)
build/constraints/bin/pip freeze --exclude jupyter-mediakit > $(1)
rm -rf build/constraints
endef
