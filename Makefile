# Two commands for a fresh machine: `make demo` does the main job, `make test` passes the tests.
PYTHON ?= python3
VENV := .venv
RUNTIME := $(shell find runtime -path runtime/tests -prune -o -type f -print; \
  find fixtures/builds fixtures/saxpy fixtures/sample_plugin fixtures/wheel -type f)

# Warnings are errors with the compiler of CI alone: others warn of more, and their users want a build.
export OMPTOOL_WERROR ?= $(if $(filter 12,$(shell $(CXX) -dumpversion 2>&1)),ON,OFF)

.PHONY: demo check quick test test-all test-distributions test-field bench docs dist gpu-kit test-gpu tools packages compilers pyomp clean

demo: tools $(VENV)/.runs
	PATH=$(CURDIR)/$(VENV)/bin:$$PATH scripts/demo.sh

# What to run before each commit, in less than a minute once everything is set up.
check: packages compilers $(VENV)/.installed
	scripts/test.sh check

# That without lint, whose tools are those of CI; a test that lacks something is skipped.
quick: packages compilers $(VENV)/.installed
	scripts/test.sh quick

test: packages compilers pyomp $(VENV)/.installed
	scripts/test.sh test

test-all: packages compilers pyomp $(VENV)/.installed
	scripts/test.sh all

# Files that others shipped, fetched by pip and apt-get: many GB, and hours.
test-field: packages compilers $(VENV)/.installed
	PATH=$(CURDIR)/$(VENV)/bin:$$PATH pytest -n 2 -m 'field or not field' tests/field

# The README's two commands and the published wheel on Debian 12, 13 and sid: it needs root, debootstrap, and two hours.
test-distributions: dist
	scripts/test_distributions.sh

bench: packages compilers $(VENV)/.installed
	PATH=$(CURDIR)/$(VENV)/bin:$$PATH scripts/bench.sh

# docs/ as a site, in build/site.
docs: $(VENV)/.installed
	$(VENV)/bin/mkdocs build

# The sdist and the wheel that are published, in dist/.
dist:
	OMPTOOL_WERROR=OFF PYTHON=$(PYTHON) scripts/dist.sh

# A tarball for a machine with a GPU, and nothing else: docs/gpus.md.
gpu-kit: packages compilers $(VENV)/.installed
	PATH=$(CURDIR)/$(VENV)/bin:$$PATH scripts/gpu_kit.sh

# The same on this machine, if it has a GPU.
test-gpu: gpu-kit
	build/gpu-kit/omptool-gpu-kit-*/test-gpu

tools:
	@PYTHON=$(PYTHON) scripts/packages.sh demo

packages:
	@PYTHON=$(PYTHON) scripts/packages.sh test

# What a stage does not use is not fetched for it.
check bench gpu-kit: COMPILERS := 14 16 22 23 gcn
compilers: packages $(VENV)/bin/pip
	scripts/compilers.sh $(COMPILERS)

# OpenMP in Python, whose programs the tests run.
pyomp: packages $(VENV)/bin/pip
	scripts/pyomp.sh

# Without ensurepip there is a folder with python and no pip.
$(VENV)/bin/pip: | tools
	$(PYTHON) -m venv $(VENV)

# An editable install: Python is used from the tree, the runtime is built when its sources change.
PIP := $(VENV)/bin/pip install --quiet --disable-pip-version-check --editable
$(VENV)/.runs: $(VENV)/bin/pip pyproject.toml $(RUNTIME)
	@echo 'Building the runtime and installing omptool into $(VENV): one or two minutes.'
	$(PIP) .
	@touch $@

# That, with what the tests need; omptool runs then, too.
$(VENV)/.installed: $(VENV)/bin/pip pyproject.toml $(RUNTIME)
	@echo 'Building the runtime and installing omptool with what its tests need into $(VENV): two minutes.'
	$(PIP) '.[test]'
	@touch $(VENV)/.runs $@

clean:
	rm -rf $(VENV) build dist
