# Every target but install, clean and help first installs what it needs (scripts/bootstrap).
# ARGS="..." is passed to the program: make demo ARGS="--quick", make bench ARGS="load --quick".

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help build dist install demo study test check bench fuzz clean

ARGS ?=
# Policies that exist to compare with are in no other build.
FEATURES = $(if $(filter rivals,$(ARGS)),--features rivals)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
TARGET := $(or $(CARGO_TARGET_DIR),target)
# Many tests wait for a process or a time: more of them at once than there are processors.
TEST_THREADS = $(shell echo $$(( ($$(nproc) * 3 + 1) / 2 )))
# rustup's folder: on a machine that was just bootstrapped it is not in PATH yet.
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

help: ## Show this list.
	@echo "Tidegate keeps an HTTPS service at its peak throughput when more customers arrive than it can serve."
	@echo
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

build: ## Build the one binary, target/release/tidegate.
	@scripts/bootstrap build
	cargo build --release --package tidegate $(FEATURES)

dist: ## Build the binary for packages, target/dist/tidegate: 3 % faster connections, twice the build time.
	@scripts/bootstrap build
	cargo build --profile dist --package tidegate

install: ## Install the binary that was built last without its line tables to PREFIX/bin (/usr/local/bin), the line tables beside it.
	@scripts/install "$$(ls -t $(TARGET)/{dist,release}/tidegate 2>/dev/null | head -n 1)" $(PREFIX)

demo: build ## Live: a site beyond its capacity without and with the gate; results in out/demo.
	$(TARGET)/release/tidegate demo $(ARGS)

study: build ## A study end to end: make study ARGS="overload --quick"; results in out/study.
	@scripts/bootstrap study
	@$(if $(filter peers,$(ARGS)),scripts/bootstrap bench)
	@scripts/services
	$(TARGET)/release/tidegate study $(ARGS)

test: ## Every test: units, properties, real sockets, nginx, PostgreSQL, a browser.
	@scripts/bootstrap test
	RUST_TEST_THREADS="$${RUST_TEST_THREADS:-$(TEST_THREADS)}" scripts/test $(ARGS)

check: ## Format, clippy, structure, documentation, licences and advisories, generated files, fuzz targets.
	@scripts/bootstrap check
	@scripts/check
	@scripts/fuzz --check

bench: ## CPU per operation: the gate beside nginx and HAProxy, the load generator beside wrk and h2load; results in out/bench.
	@scripts/bootstrap bench
	cargo build --profile dist --package tidegate --package tidegate-bench
	@if [[ "$(ARGS)" != load* ]]; then \
		rm -rf out/bench/criterion; \
		CRITERION_HOME=$(CURDIR)/out/bench/criterion cargo bench --profile dist --package tidegate-bench --bench in_process -- '^(hello|decision)/'; \
	fi
	@if [ -n "$(ARGS)" ]; then exec $(TARGET)/dist/tidegate-bench $(ARGS); fi; \
	code=0; $(TARGET)/dist/tidegate-bench || code=$$?; \
	$(TARGET)/dist/tidegate-bench load || exit $$?; exit $$code

fuzz: ## Run every fuzz target for FUZZ_SECONDS (60) each.
	@scripts/bootstrap fuzz
	@scripts/fuzz $(FUZZ_SECONDS)

clean: ## Remove what was built and measured.
	cargo clean
	rm -rf out services/target services/*/target
