# Two commands on a fresh machine with Python 3.11+ and make: `make run` does the main job, `make test` proves it.
# Everything is installed into .venv/ from requirements/*.txt: exact versions, checked by their hashes.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Two workers for tests that compute, the others for tests that wait: tests/scheduling.py says which are which. Among the
# quick tests fewer wait, and each worker takes a quarter of a minute of CPU to collect them.
PYTEST := $(BIN)/python -m pytest -rsR --numprocesses
INSTALL := $(PIP) install --require-hashes --no-build-isolation
UV := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header
BROWSER := chromium fonts-dejavu-core
JDK := default-jdk-headless maven
# Tests start a thousand processes, and every worker rewrites every test's asserts: each would compile all it imports.
export PYTHONDONTWRITEBYTECODE :=
say := @printf 'set-up: %s\n'
engine = { sh .ci/engine start && sh compose/images.sh; } || \
  echo 'set-up: NO CONTAINERS ARE TESTED, for the reason above; tests that need them are skipped or fail' >&2

.DEFAULT_GOAL := help
.PHONY: help run test prove check docs bench nightly lock update clean browser jdk redis engine

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

run: $(VENV)/.run $(VENV)/.java ## explore the reference pair, judge it, make the report; prints where it is
	@$(BIN)/pairproof check --profile quick --report

test: $(VENV)/.dev jdk $(VENV)/.java browser redis ## run all tests: the quick ones, then the slow ones
	@$(PYTEST) 4 -m 'not slow and not nightly'
	@trap 'sh .ci/engine stop' EXIT; trap 'exit 130' INT TERM; \
	  $(engine); $(PYTEST) 7 -m 'slow and not nightly'

prove: $(VENV)/.run $(VENV)/.java ## the machine drives the pair in containers and processes; it finds a bug in containers
	@trap 'sh .ci/engine stop' EXIT; trap 'exit 130' INT TERM; \
	  $(engine); bash .ci/prove

check: $(VENV)/.dev ## lint, formatting, types, and which room may import which
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet . || { echo 'not formatted; run $(BIN)/ruff format .' >&2; exit 1; }
	@$(BIN)/mypy --no-error-summary
	@MYPYPATH=tests/java:tests/reference/shell $(BIN)/mypy --no-error-summary tests/java
	@$(BIN)/lint-imports --no-logo >$(VENV)/imports.log || { cat $(VENV)/imports.log; exit 1; }
	@echo 'check: lint, formatting, types and arrows are clean'

docs: $(VENV)/.dev ## build the documentation site into build/site; a link that leads nowhere is an error
	@$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -b html -c docs . build/site
	@echo 'docs: build/site/index.html'

bench: $(VENV)/.dev jdk $(VENV)/.java ## measure: searches, judges, brokers, also beside Java brokers
	@for each in tests/bench/bench_*.py; do echo "== $$each"; $(BIN)/python $$each || exit 1; done

nightly: $(VENV)/.nightly jdk $(VENV)/.java browser ## two hours: what tests have no time for: .ci/nightly says what
	@trap 'sh .ci/engine stop' EXIT; trap 'exit 130' INT TERM; \
	  $(engine); bash .ci/nightly

lock: $(VENV)/.base ## resolve requirements/*.in to new exact versions
	@$(PIP) install uv
	@cd requirements && for each in build run base dev nightly jre; do \
	  ../$(UV) --upgrade $$( case $$each in base|dev) echo '--constraint run.txt' ;; nightly) echo '--constraint dev.txt' ;; esac ) $$each.in -o $$each.txt || exit 1; done

update: ## new versions of all dependencies, with the tests as judge; git diff requirements says what changed
	@$(MAKE) lock && $(MAKE) check test

clean: ## remove .venv, downloaded tools and caches; recorded runs stay
	@rm -rf $(VENV) .tools build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Set-up, a step each. A step is repeated when what it was made from changes.

$(VENV)/.base: requirements/build.txt requirements/find_python.sh
	@python=$$(sh requirements/find_python.sh) && echo "set-up: $(VENV) with $$python" && $$python -m venv --clear $(VENV)
	@$(INSTALL) -r requirements/build.txt
	@touch $@

# Without --no-build-isolation pip would fetch whatever setuptools is newest for the one dependency that is source.
$(VENV)/.run: requirements/run.txt pyproject.toml $(VENV)/.base
	$(say) 'dependencies (about half a gigabyte, most of it Spark)'
	@$(INSTALL) -r requirements/run.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.run
	$(say) 'tools for tests and checks'
	@$(INSTALL) -r requirements/dev.txt
	@touch $@

$(VENV)/.nightly: requirements/nightly.txt $(VENV)/.dev
	$(say) 'an object store for tests'
	@$(INSTALL) -r requirements/nightly.txt
	@touch $@

# Spark uses the machine's Java where it suits; otherwise a runtime that comes as a wheel. Without either only the tables
# and pages that Spark makes are missing, so this step never fails.
$(VENV)/.java: requirements/jre.txt $(VENV)/.run
	@$(BIN)/python -m pairproof.reports.java >/dev/null 2>&1 || { \
	  echo 'set-up: a Java runtime for Spark'; $(INSTALL) -r requirements/jre.txt; } || \
	  echo 'set-up: no Java runtime; verdicts, JSON and JUnit come all the same, Spark tables and pages do not' >&2
	@touch $@

# $(1): a program, $(2): the packages that bring it, $(3): what becomes of the tests without it.
define from_apt
	@command -v $(1) >/dev/null 2>&1 || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	    echo 'set-up: $(2)'; \
	    { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $(2); } \
	      >/dev/null 2>&1 || echo 'set-up: could not install $(2); $(3)' >&2; \
	  else echo 'set-up: no $(1), and not root with apt to install it; $(3)' >&2; fi; }
endef

browser:
	$(call from_apt,chromium,$(BROWSER),the page test is skipped)

redis:
	$(call from_apt,redis-server,redis-server,the tests with real Redis are skipped)

# A JRE alone does not do: the driver of the tests with Java peers is compiled.
jdk:
	$(call from_apt,javac,$(JDK),the tests with real RocketMQ peers fail)
	$(call from_apt,mvn,$(JDK),the tests with real RocketMQ peers fail)

# Whoever asks for it stops it, too: sh .ci/engine stop.
engine:
	@$(engine)
