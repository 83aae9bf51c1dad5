# Everything a checkout needs, behind short names. `make` alone lists them.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.SUFFIXES:

STACK ?= $(or $(PULUMI_STACK),local)
BLUEPRINT ?=
# More words for the program or for pytest: make plan ARGS=--json, make test-pure ARGS='-k caret'
ARGS ?=
SINCE ?=

activated = . ./activate &&
program = $(activated) exec clusterwright
chosen = --stack $(STACK) $(if $(BLUEPRINT),--blueprint $(BLUEPRINT)) $(ARGS)
pytest = $(activated) exec python -m pytest $(ARGS)
# Tests that share nothing of the machine: as many at a time as it has processors; one after another with ARGS=-n0, which a debugger needs.
together = $(activated) exec python -m pytest --numprocesses=auto --maxprocesses=8 --dist=worksteal $(ARGS)
# Tests of hosts wait more than they compute: groups of them run side by side (tests/hosts/groups.py).
beside = $(activated) exec python -m pytest --numprocesses=4 --dist=loadscope --no-loadscope-reorder --timeout=1200 $(ARGS)

.PHONY: help
help: ## list the targets
	@echo 'Targets (STACK=$(STACK)$(if $(BLUEPRINT), BLUEPRINT=$(BLUEPRINT))):'
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  \1|\2/p' Makefile | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

.PHONY: setup
setup: ## install what is missing (EXTRAS="aws gcp kubernetes" adds cloud SDKs and a release of Kubernetes)
	@tools/setup

##  Clusters

.PHONY: plan
plan: ## show what a blueprint creates and what it costs; nothing is created
	@tools/setup python engine
	@$(program) plan $(chosen)

.PHONY: up
up: ## create, change or repair the stack: STACK=name BLUEPRINT=name-or-file
	@STACK='$(STACK)' tools/setup root packages python engine
	@$(program) up $(chosen)

.PHONY: down
down: ## delete everything that belongs to the stack
	@tools/setup python engine
	@$(program) down --stack $(STACK) $(ARGS)

##  Checks: each tool also runs alone by its own name after `. ./activate`

.PHONY: check
check: ## formatter, linter, types, import table, playbooks, shell scripts
	@tools/setup python engine
	@$(activated) exec tools/check

.PHONY: format
format: ## rewrite Python files and Markdown in the project's format
	@tools/setup python engine
	@$(activated) ruff format --quiet && ruff check --fix-only --quiet && exec python tools/markdown.py *.md docs/*.md tests/*/README.md

.PHONY: setup-test
setup-test: ## install what the tests need and is missing
	@EXTRAS="aws gcp $(EXTRAS)" tools/setup packages kubernetes bmc browser python bytecode engine scanner

.PHONY: test
test: setup-test ## all tests that this machine can run; SINCE=commit: those that can notice what changed
	@$(activated) SINCE='$(SINCE)' exec tools/test $(ARGS)

.PHONY: test-pure
test-pure: ## milliseconds each: values only
	@tools/setup python engine
	@$(together) -m 'not slow and not browser and not engine and not hosts and not soak' --ignore=tests/components

.PHONY: test-slow
test-slow: ## seconds each: programs and long computations without engine and hosts
	@tools/setup python engine
	@$(together) -m slow

.PHONY: test-browser
test-browser: ## seconds: reports and pictures in a browser
	@tools/setup browser python engine
	@$(pytest) -m browser

.PHONY: test-components
test-components: ## seconds: whole programs against Pulumi's mocks
	@EXTRAS="aws gcp $(EXTRAS)" tools/setup python bytecode engine scanner
	@$(together) -m 'not engine and not hosts and not soak' tests/components

.PHONY: test-engine
test-engine: ## tens of seconds: the real engine
	@EXTRAS="aws gcp $(EXTRAS)" tools/setup python bytecode engine
	@$(together) -m 'engine and not hosts and not soak'

.PHONY: test-hosts
test-hosts: ## minutes: real hosts on this machine (root)
	@EXTRAS="aws gcp $(EXTRAS)" tools/setup packages kubernetes bmc python bytecode engine
	@$(beside) -m 'hosts and not soak'

.PHONY: soak
soak: ## hours: the long repetitions (root)
	@EXTRAS="aws gcp $(EXTRAS)" tools/setup packages kubernetes bmc browser python bytecode engine
	@$(pytest) -m soak --timeout=7200

.PHONY: bench
bench: ## measure the bars; JSON on stdout (root)
	@tools/setup
	@$(activated) exec python -m bench $(ARGS)

.PHONY: clean-cache
clean-cache: ## remove the cache (engine, root file systems, layers)
	@tools/clean-cache
