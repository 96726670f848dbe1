# Everything that is done to coflash, by one command each. All of it stays inside this folder: the Python environment in
# .venv, what Rust builds in target.

PYTHON ?= python3
PIP_VERSION := 26.3
VENV := .venv
BIN := $(VENV)/bin
BUILD_TOOLS := $(VENV)/.build-tools
DEV_TOOLS := $(VENV)/.dev-tools
# The compiled core: the one that is tested shares its crates with Rust's own tests, that of the demo is soon compiled, and the
# fast one is that of wheels.
CORE := $(VENV)/.core-dev
DEMO_CORE := $(VENV)/.core-demo
FAST_CORE := $(VENV)/.core-release
OUT ?= results/demo
CUTS ?= 1000000
KILLS ?= 250
LAB_OF_WHEEL := python/coflash/report/assets/lab.html
CRATES ?= ftl cache level hybrid

# What the compiled core is made of, scenarios included: the presets are compiled in.
CORE_SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find crates scenarios -type f -name '*.rs' -o -type f -name '*.toml' 2>/dev/null)

# When each check that passed began. It is repeated once a file of the project has changed or gone since.
CHECKED := target/checked
FILES := $(shell find * .ci .cargo .github \( -path results -o -path dist -o -name target -o -name __pycache__ \) -prune -o -type f ! -name '*.so' -print | sort)

# PyO3 builds against this Python also where cargo is called by hand.
export PYO3_PYTHON := $(abspath $(BIN)/python)
# Not that of a shell in which another environment is active. Without compiled modules a process starts a second later.
unexport VIRTUAL_ENV CONDA_PREFIX PYTHONPATH PYTHONDONTWRITEBYTECODE
# Cargo would look for make's job server, which its recipes do not have.
ALONE := env -u MAKEFLAGS -u MFLAGS
export PIP_QUIET := 1
# Python compiles what it imports, a small part.
export PIP_COMPILE := 0
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test portable storm strangers mutants bench bench-pair instructions golden generate inputs notebooks power-corpus lab lab-if-possible wheel docs format clean prerequisites rust-checks rustdoc python-checks python-tests clients node-packages always

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(DEMO_CORE) ## Set up, and compare CDM with its baseline on a real OLTP trace; writes a report (OUT=results/demo)
	$(BIN)/coflash demo --out $(OUT)
	@! command -v npm >/dev/null || scripts/lab $(BIN)/python $(VENV)/node target/lab records

# The make of macOS is older than this option.
TOGETHER := $(if $(filter output-sync,$(.FEATURES)),--output-sync=line)
# Rust's and Python's side by side: what one waits for or does on one core, the other uses. The third is the compiled core, which
# waits for the crates that Rust's tests compile.
test: ## Set up, and run all that is checked
	@$(MAKE) --no-print-directory --jobs=3 $(TOGETHER) rust-checks python-tests

# Minutes for each target, so it is no part of `make test`, which looks for what tests/python/test_portable.py knows to be in the way.
portable: prerequisites ## Compile for Windows and browsers; only the targets that are installed
	@$(ALONE) scripts/portable

storm: prerequisites ## Cut power a million times under every scheme and OP-FCL, and of containers (CUTS=1000000)
	COFLASH_STORM_CUTS=$(CUTS) cargo test --release --locked -p coflash-level -p coflash-hybrid --test crash
	COFLASH_STORM_CUTS=$(CUTS) cargo test --release --locked -p coflash-store

# A process is killed 250 times a scheme, hundreds of states of file systems and the corpus of faults are checked, a million power
# cuts of containers.
strangers: $(DEV_TOOLS) $(FAST_CORE) ## Have kernels, file systems, databases, kill -9 at served devices for an hour or so, and print a table (KILLS=250)
	@scripts/clients strangers
	COFLASH_STORM_CUTS=$(CUTS) $(ALONE) cargo test --release --locked -p coflash-store
	@$(MAKE) --no-print-directory power-corpus
	COFLASH_KILLS=$(KILLS) COFLASH_POINTS=200 $(BIN)/pytest --verbose --timeout=0 -o faulthandler_timeout=0 \
		tests/python/test_kills.py tests/python/test_file_systems.py tests/python/test_guest.py tests/python/test_lazyfs.py

# Minutes. A short part of it is in `make test`.
power-corpus: $(DEV_TOOLS) $(FAST_CORE) ## Explore programs with one known fault each, mended ones and databases, and write docs/power_corpus.md
	@scripts/clients strangers
	$(BIN)/python -m pip install --group databases
	$(BIN)/python scripts/power_corpus.py --write

# What survives is a finding and no failure: 2 is its exit code.
mutants: prerequisites ## Break the levels in every place, one at a time, and list what no test notices; takes a night (CRATES="cache")
	cargo mutants --version > /dev/null 2>&1 || cargo install cargo-mutants --locked
	cargo mutants --jobs 1 --output results/mutants $(CRATES:%=--package coflash-%) || test $$? -eq 2

bench: $(FAST_CORE) ## Measure speed and memory, and the cost of policies of one's own; ROWS="standard LRU" for some rows only
	cargo run --release --locked --quiet -p coflash-bench -- $(ROWS)
	$(BIN)/python scripts/policy_speed.py $(ROWS)

# The same on any machine and at any load, so it can be compared with what is recorded.
instructions: $(FAST_CORE) ## Count the instructions of a request in five short runs (valgrind); WRITE=1 records them
	$(BIN)/python scripts/instructions.py $(if $(WRITE),--write) $(ROWS)

# Two versions in turn, in processor time: a ratio that holds also on a busy machine.
PAIR_ROWS ?= "standard job" "standard job, cdm, cache 5 %" "standard job, shared channels" "shipped trace, closed loop, cdm"
bench-pair: prerequisites ## Compare the speed with that of another version; BASE=commit, PAIR_ROWS='"standard job"'
	$(PYTHON) scripts/bench_pair.py "$(BASE)" $(PAIR_ROWS)

golden: $(CORE) ## Write the golden results anew; raise REVISION, and say why in CHANGELOG.md under "Results changed"
	$(BIN)/python scripts/golden.py

generate: $(CORE) ## Write the generated parts of docs/ anew
	$(BIN)/python scripts/reference.py
	$(BIN)/python scripts/reviewers.py

inputs: $(CORE) ## Try the files that people bring, also those of public repositories where the network allows: docs/inputs.md
	$(BIN)/python scripts/inputs.py

notebooks: $(DEV_TOOLS) $(CORE) ## Execute the examples, and write them with their answers as notebooks
	$(BIN)/python scripts/notebooks.py

# The static folder opens from disk and from any web server. What is missing is said at once, and is an error.
lab: $(CORE) node-packages ## Build the laboratory in a browser: target/lab/index.html
	@$(ALONE) scripts/lab $(BIN)/python $(VENV)/node target/lab

# Where it is a part of something else: without a compiler for browsers it is said each time, and left out.
lab-if-possible: $(CORE) node-packages
	@$(ALONE) scripts/lab $(BIN)/python $(VENV)/node target/lab possible

# The tag says the oldest glibc that will do; the workflow builds in a container that has an old one.
wheel: lab-if-possible ## Build a wheel that needs no Rust, and try it in an empty environment: dist/*.whl
	rm -rf dist
	@! test -f target/lab/index.html || cp target/lab/index.html $(LAB_OF_WHEEL)
	$(ALONE) COFLASH_COMMIT=$$(git rev-parse HEAD 2>/dev/null) $(BIN)/maturin build --release --locked --strip --compatibility pypi --out dist
	rm -f $(LAB_OF_WHEEL)
	$(BIN)/python scripts/try_wheel.py dist

docs: $(DEV_TOOLS) $(CORE) rustdoc lab-if-possible ## Write the documentation as one site, Rust's included: target/site/index.html
	$(BIN)/python scripts/site_pages.py target/site-pages
	scripts/node/install $(VENV)/node
	cp $(VENV)/node/node_modules/iframe-worker/shim/index.js target/site-pages/assets/iframe-worker.js
	$(BIN)/zensical build --strict
	rm -rf target/site
	cp -R target/site-html target/site
	cp -R target/doc target/site/rust
	@! test -f target/lab/index.html || cp target/lab/index.html target/site/lab.html

format: $(DEV_TOOLS) ## Format all code
	cargo fmt --all
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/ruff format

clean: ## Remove all that was built, the Python environment included
	rm -rf $(VENV) target dist .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis python/coflash/_core*.so
	find python reproductions scripts tests -name __pycache__ -prune -exec rm -rf {} +

# A test that hangs fails by its name.
LIMITED := target."cfg(unix)".runner = ["$(abspath $(BIN)/python)", "$(abspath scripts/rust_tests.py)"]

rust-checks: $(BUILD_TOOLS) clients
	$(ALONE) cargo fmt --all --check
	$(ALONE) cargo clippy --locked --workspace --all-targets --quiet -- --deny warnings
	$(ALONE) cargo test --locked --workspace --quiet --config '$(LIMITED)'
	$(MAKE) --no-print-directory rustdoc

rustdoc: $(BUILD_TOOLS)
	$(ALONE) RUSTDOCFLAGS="--deny rustdoc::broken_intra_doc_links --allow rustdoc::private_intra_doc_links" \
		cargo doc --locked --workspace --no-deps --quiet

python-checks: $(CHECKED)/lints $(CHECKED)/script $(CHECKED)/core

$(CHECKED)/names: always
	@mkdir -p $(@D)
	@echo $(FILES) | cmp -s - $@ || echo $(FILES) > $@

$(CHECKED)/lints: $(DEV_TOOLS) $(FILES) $(CHECKED)/names
	@touch $@.begun
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff
	@mv $@.begun $@

# Without npm this is skipped, and said each time.
$(CHECKED)/script: $(DEV_TOOLS) $(FILES) $(CHECKED)/names | node-packages
	@touch $@.begun
	scripts/node/check $(VENV)/node
	@! command -v npm >/dev/null || mv $@.begun $@

$(CHECKED)/core: $(CHECKED)/lints $(CORE)
	@touch $@.begun
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/python -m mypy.stubtest coflash._core --allowlist scripts/stubtest_allowed.txt
	$(BIN)/python scripts/reference.py --check
	$(BIN)/python scripts/reviewers.py --check
	$(BIN)/python scripts/golden.py --check
	$(BIN)/python scripts/site_pages.py target/site-pages
	$(BIN)/zensical build --strict
	@mv $@.begun $@

# The tests of a module stay together: its runs are done once. Modules in the order of `testpaths`. A worker that ends in a test is
# not replaced: the new one would begin with the same test, and hang or crash as well. Three workers on two cores: some tests wait for
# a browser or for another process.
python-tests: python-checks clients lab-if-possible
	$(ALONE) $(BIN)/pytest --numprocesses=3 --dist=loadscope --no-loadscope-reorder --max-worker-restart=0

prerequisites:
	@scripts/prerequisites $(PYTHON)

# Before any test: one that began in the midst of it would find half a program.
clients:
	@scripts/clients

# Once, before those that need them: two would install side by side. Who needs them says that npm is missing.
node-packages: $(BUILD_TOOLS)
	@! command -v npm >/dev/null || scripts/node/install $(VENV)/node

# An order-only prerequisite: it always runs, and never makes anything stale.
$(BUILD_TOOLS): pyproject.toml | prerequisites
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install pip==$(PIP_VERSION)
	$(BIN)/python -m pip install --group build
	@touch $@

$(DEV_TOOLS): $(BUILD_TOOLS)
	$(BIN)/python -m pip install --group dev
	@touch $@

# One core is installed at a time; the crates of both are kept.
$(VENV)/.core-%: $(BUILD_TOOLS) $(CORE_SOURCES) reproductions/pyproject.toml
	@rm -f $(VENV)/.core-*
	$(ALONE) $(BIN)/maturin develop --group build --profile $* --locked
	$(BIN)/python -m pip install --no-deps --no-build-isolation --editable reproductions
	$(BIN)/python python/coflash/report/library.py
	@touch $@
