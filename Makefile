# SPDX-License-Identifier: Apache-2.0
#
# The tasks of this project; "make help" lists them. Each is one line or one script.

STORM_VERSION := 2.8.3
STORM_HOME_DIR := build/storm-home/$(STORM_VERSION)
OLDER_VERSIONS := 2.6.4 2.4.0
STORM_STOCK_DIR := build/storm-stock/$(STORM_VERSION)
TOPOLOGIES_JAR := build/topologies.jar
STATE_JAR := build/gust-state.jar
STORM_REDIS_DIR := build/storm-redis/$(STORM_VERSION)

export GUST_STORM_HOME := $(CURDIR)/$(STORM_HOME_DIR)
export GUST_STORM_STOCK := $(CURDIR)/$(STORM_STOCK_DIR)

.DEFAULT_GOAL := help
.PHONY: help setup build state-jar storm-home storm-older storm-stock storm-redis topologies multilang-children jre-21 demo test unit lint gen gen-check compat compat-cut compat-record bench soak fmt tidy clean

help: ## list the tasks
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install what this machine lacks (JDK, Maven, Python 3, Node), saying what
	@scripts/setup

build: ## build bin/gust and its link bin/storm
	@mkdir -p bin
	CGO_ENABLED=0 go build -trimpath -o bin/gust ./cmd/gust
	@ln -sf gust bin/storm

state-jar: setup ## build the keyed state's JAR for stock workers
	@scripts/state-jar $(STATE_JAR)

storm-home: state-jar ## lay out a Storm home from Maven (the stock workers)
	@scripts/storm-home $(STORM_VERSION) $(STORM_HOME_DIR) --plugin=$(STATE_JAR)

storm-older: state-jar ## lay out Storm homes of older releases, for tests
	@for version in $(OLDER_VERSIONS); do scripts/storm-home $$version build/storm-home/$$version --plugin=$(STATE_JAR) || exit; done

storm-stock: setup ## lay out stock Storm's own daemons too, for comparison
	@scripts/storm-home $(STORM_VERSION) $(STORM_STOCK_DIR) --server

storm-redis: setup ## lay out Storm's Redis state from Maven, for comparison
	@scripts/storm-redis $(STORM_VERSION) $(STORM_REDIS_DIR)

topologies: setup ## build the JAR of test and demo topologies
	@scripts/topologies $(TOPOLOGIES_JAR)

multilang-children: setup ## install what tests drive as children: storm.py, storm.js, pystorm, streamparse
	@scripts/multilang-children build/multilang

jre-21: setup ## lay out a Java 21 runtime for tests, where the system has none
	@scripts/jre-21 build/jre-21

demo: build storm-home topologies ## run a word count and watch it (Ctrl-C ends it)
	@scripts/demo

test: build storm-home storm-older storm-stock storm-redis topologies multilang-children jre-21 ## everything that CI runs
	@scripts/test

unit: ## the Go tests alone, without set-up
	go test -race ./...

lint: ## formatting, vet, staticcheck and the layer test
	@scripts/lint

gen: setup ## regenerate thrift/storm.thrift, its Go code and the tables
	@scripts/gen

gen-check: gen ## prove that the generated code is current
	@git diff --exit-code -- thrift config docs/config.md

compat: build storm-home storm-older storm-stock storm-redis topologies jre-21 multilang-children ## every scenario on stock Storm and on gust, compared
	@scripts/compat all

compat-record: storm-home storm-stock topologies ## record stock Storm's answers
	@scripts/compat record

bench: build storm-home storm-stock topologies ## stock Storm and gust side by side, ratios printed
	@scripts/bench

soak: build storm-home topologies ## long runs under faults
	@scripts/soak

fmt: ## format the Go code
	@scripts/lint --fix

tidy: ## tidy the Go modules
	go mod tidy
	cd compat-tests && go mod tidy

clean: ## remove what was built
	rm -rf bin build
