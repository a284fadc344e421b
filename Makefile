# Two commands for a fresh machine: `make demo` does the main job, `make test` passes the tests.
PYTHON ?= python3
VENV := .venv
RUNTIME := $(shell find runtime -path runtime/tests -prune -o -type f -print; \
  find fixtures/builds fixtures/saxpy fixtures/sample_plugin -type f)

.PHONY: demo check test test-all test-field bench dist gpu-kit test-gpu packages compilers clean

demo: $(VENV)/.runs
	PATH=$(CURDIR)/$(VENV)/bin:$$PATH scripts/demo.sh

# What to run before each commit, in less than a minute once everything is set up.
check: packages compilers $(VENV)/.installed
	scripts/test.sh check

test: packages compilers $(VENV)/.installed
	scripts/test.sh test

test-all: packages compilers $(VENV)/.installed
	scripts/test.sh all

# Files that others shipped, fetched by pip and apt-get: many GB, and hours.
test-field: packages compilers $(VENV)/.installed
	PATH=$(CURDIR)/$(VENV)/bin:$$PATH pytest -n 2 -m 'field or not field' tests/field

bench: packages compilers $(VENV)/.installed
	PATH=$(CURDIR)/$(VENV)/bin:$$PATH scripts/bench.sh

# The sdist and the wheel that are published, in dist/.
dist:
	PYTHON=$(PYTHON) scripts/dist.sh

# A tarball for a machine with a GPU, and nothing else: docs/gpus.md.
gpu-kit: packages compilers $(VENV)/.installed
	PATH=$(CURDIR)/$(VENV)/bin:$$PATH scripts/gpu_kit.sh

# The same on this machine, if it has a GPU.
test-gpu: gpu-kit
	build/gpu-kit/omptool-gpu-kit-*/test-gpu

packages:
	scripts/packages.sh

# What a stage does not use is not fetched for it.
check bench gpu-kit: COMPILERS := 14 16 22 23 gcn
compilers: packages $(VENV)/bin/python
	scripts/compilers.sh $(COMPILERS)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# An editable install: Python is used from the tree, the runtime is built when its sources change.
PIP := $(VENV)/bin/pip install --quiet --disable-pip-version-check --editable
$(VENV)/.runs: $(VENV)/bin/python pyproject.toml $(RUNTIME)
	@echo 'Building the runtime and installing omptool into $(VENV): one or two minutes.'
	$(PIP) .
	@touch $@

# That, with what the tests need; omptool runs then, too.
$(VENV)/.installed: $(VENV)/bin/python pyproject.toml $(RUNTIME)
	@echo 'Building the runtime and installing omptool with what its tests need into $(VENV): two minutes.'
	$(PIP) '.[test]'
	@touch $(VENV)/.runs $@

clean:
	rm -rf $(VENV) build dist
