# Bossman. `make help` lists what there is; CI runs these same targets (.ci/run).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
FUZZTIME ?= 20s
# More flags for every `go test`, for example TESTFLAGS=-v or TESTFLAGS=-json.
TESTFLAGS ?=
# Flags for bench-stdio; -check fails it if a requirement is missed.
BENCHFLAGS ?= -rounds 7 -d 700ms -warm 200ms -check
# The same for bench-http.
HTTPBENCHFLAGS ?= -rounds 5 -check
# The same for bench-gateway.
GATEWAYBENCHFLAGS ?= -check
# The same for bench-board.
BOARDBENCHFLAGS ?= -rounds 3 -d 2s -warm 500ms -check
# The same for bench-cell; there is nothing to check.
CELLBENCHFLAGS ?= -finished 10000000 -events 2 -tasks 200000 -rounds 3 -d 5s
# The same for bench-years.
YEARSBENCHFLAGS ?= -rounds 3 -d 2s -check
# The same for bench-archive. An archive of each round takes a third of the tasks.
ARCHIVEBENCHFLAGS ?= -finished 1000000 -rounds 3 -d 1m -warm 5s -check

# Flags of release.
RELEASEFLAGS ?=

# The product, and the modules that keep what only tests need out of its go.mod.
MODULES := . $(patsubst %/go.mod,%,$(wildcard e2e/go.mod bench/go.mod))
TOOL := $(GO) tool -modfile=$(CURDIR)/tools.mod
# Go files of every module: what gofumpt looks at.
SOURCES = find . \( -name node_modules -o -name testdata -o -path ./.git \) -prune -o -name '*.go' -print

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## compile every package of every module; programs go to bin/
	@for m in $(MODULES); do echo "build: $$m"; (cd $$m && $(GO) build ./...); done
	@mkdir -p bin && CGO_ENABLED=0 $(GO) build -trimpath -ldflags='-s -w' -o bin/ ./cmd/...

# The version is in cmd/bossman/VERSION. RELEASEFLAGS=-only=linux/amd64 builds for one system.
.PHONY: release
release: ## build the files of a release for Linux, macOS and Windows in dist/: archives, packages, SBOMs, SHA256SUMS
	$(GO) run ./internal/release $(RELEASEFLAGS)

.PHONY: release-verify
release-verify: ## build the program twice, in different directories and with an empty cache, and compare every byte (minutes)
	$(GO) run ./internal/release -verify

.PHONY: release-check
release-check: ## install the packages in dist/ with dpkg, rpm, npm, pip and install.sh, check the MCPB bundles, and run what was installed (needs npm and python3)
	cd e2e && BOSSMAN_DIST=$(CURDIR)/dist $(GO) test -count=1 -timeout=20m -v $(TESTFLAGS) ./release

.PHONY: test
test: ## run the tests
	$(GO) test $(TESTFLAGS) ./...

# -race also checks pointer arithmetic. modernc.org/sqlite is C translated to Go and does
# little else: without these checks of its code the SQLite tests take less than half as
# long. Data races are looked for there as everywhere.
# GORACE: a program under the race detector sleeps before it exits, by default for a
# second, in case goroutines that it left running race. The tests run hundreds of programs.
.PHONY: race
race: ## run the tests under the race detector, without the test cache; of the scripts of the command line only some
	GORACE='atexit_sleep_ms=50' $(GO) test -race -gcflags='modernc.org/...=-d=checkptr=0' -count=1 -timeout=30m $(TESTFLAGS) ./...

.PHONY: scripts
scripts: ## run all scripts of the command line, without the race detector and the test cache (five minutes)
	$(GO) test -count=1 -timeout=30m $(TESTFLAGS) ./cmd/bossman

# When the time is over, the fuzzing engine sometimes takes its own deadline for a failure: it says
# so, and has written no input. Then the target runs again.
.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (default 20s) each
	@find . \( -name node_modules -o -name testdata -o -path ./e2e -o -path ./bench -o -path './.*' \) -prune -o -name '*_test.go' -print0 \
	| xargs -0 -r awk '/^func Fuzz[A-Za-z0-9_]*\(/ { dir = FILENAME; sub(/\/[^\/]*$$/, "", dir); name = $$2; sub(/\(.*/, "", name); print dir, name }' \
	| sort | { \
		n=0; log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
		fuzz() { $(GO) test $(TESTFLAGS) -run='^$$' -fuzz="^$$name\$$" -fuzztime=$(FUZZTIME) -fuzzminimizetime=1x "$$dir" </dev/null >"$$log"; }; \
		deadline() { grep -q 'context deadline exceeded' "$$log" && ! grep -q 'Failing input written' "$$log"; }; \
		while read -r dir name; do \
			n=$$((n+1)); echo "fuzz: $$dir $$name, $(FUZZTIME)"; \
			status=0; fuzz || { deadline && fuzz; } || status=$$?; \
			cat "$$log"; [ $$status = 0 ] || exit $$status; \
		done; \
		echo "fuzz: $$n targets"; \
	}

.PHONY: lint
lint: ## go vet, staticcheck and gofumpt, for every module
	@for m in $(MODULES); do echo "lint: $$m"; (cd $$m && $(GO) vet ./... && $(TOOL) staticcheck ./...); done
	@$(GO) vet ./.ci/count
	@bad=$$($(SOURCES) | xargs $(TOOL) gofumpt -l); \
	if [ -n "$$bad" ]; then printf 'gofumpt would change these files; run make fmt:\n%s\n' "$$bad" >&2; exit 1; fi

# Tests of these packages use what only Unix has, or import internal/pgtest, which does: on Windows the packages are
# compiled, and not vetted with their tests. e2e and bench are for Linux.
UNIX_TESTS := check|cmd/bossman|internal/pgtest|land|push|store/postgres|telemetry|web

.PHONY: cross-vet
cross-vet: ## go vet for macOS and Windows, without running anything
	GOOS=darwin CGO_ENABLED=0 $(GO) vet ./...
	@echo 'GOOS=windows CGO_ENABLED=0 $(GO) build and vet'; export GOOS=windows CGO_ENABLED=0; \
	$(GO) build $$($(GO) list -f '{{if .GoFiles}}{{.ImportPath}}{{end}}' ./... | grep -v /internal/pgtest$$) && \
	$(GO) vet $$($(GO) list ./... | grep -vE '/bossman/($(UNIX_TESTS))$$')

.PHONY: fmt
fmt: ## format every Go file with gofumpt
	@$(SOURCES) | xargs $(TOOL) gofumpt -l -w

.PHONY: cover
cover: ## run the tests and report coverage; details in coverage.out
	$(GO) test $(TESTFLAGS) -coverpkg=./... -coverprofile=coverage.out ./...
	@$(GO) tool cover -func=coverage.out | tail -n 1

.PHONY: e2e
e2e: ## conformance suite, real clients, the board, a team's server, load, faults (needs npm; installs what it uses)
	@if [ -f e2e/go.mod ]; then cd e2e && $(GO) test -count=1 -timeout=20m $(TESTFLAGS) ./...; else echo "e2e: not here yet"; fi

.PHONY: kills
kills: ## kill -9 a hundred holders of a task, and an agent: nothing gets stuck (four minutes)
	cd e2e && BOSSMAN_E2E_EXACT=1 BOSSMAN_KILLS=100 $(GO) test -count=1 -timeout=20m -v -run '^TestKilled' $(TESTFLAGS) ./board

.PHONY: land-laptops
land-laptops: ## two laptops land 200 tasks on a branch of one remote repository, while a person pushes there (some minutes)
	cd e2e && BOSSMAN_LAPTOPS=200 $(GO) test -count=1 -timeout=40m -v -run '^TestLaptops$$' $(TESTFLAGS) ./land

.PHONY: land-kills
land-kills: ## kill -9 a lander, or its git, 600 times, before and after its calls of git and of the board, and stop the update of a checkout at every step (half an hour)
	BOSSMAN_LAND_SEEDS=1-20 $(GO) test -count=1 -timeout=40m -v -run '^TestAdvance_(stopped|killed)$$' $(TESTFLAGS) ./git
	BOSSMAN_LAND_KILLS=50 $(GO) test -count=1 -timeout=40m -v -run '^TestLand_killed' $(TESTFLAGS) ./land

.PHONY: e2e-land
e2e-land: ## 1,000 tasks land while 20 slots work, and 10,000 acts of agents whose time is over (half an hour)
	cd e2e && BOSSMAN_LAND=1000 $(GO) test -count=1 -timeout=80m -v $(TESTFLAGS) ./land
	BOSSMAN_ZOMBIES=10000 $(GO) test -count=1 -timeout=40m -v -run '^TestLand_zombie' $(TESTFLAGS) ./land

.PHONY: cuts
cuts: ## cut 1,000 connections to PostgreSQL, before, inside and after each statement: nothing is lost, nobody holds a claim unknown (minutes)
	cd e2e && BOSSMAN_CUTS=1000 $(GO) test -count=1 -timeout=40m -v -run '^TestCut$$' $(TESTFLAGS) ./faults

.PHONY: question-rounds
question-rounds: ## 10,000 rounds of two agents at one pipe whose calls both ask: no answer reaches the wrong one
	BOSSMAN_QUESTION_ROUNDS=10000 $(GO) test -count=1 -timeout=30m -v -run '^TestQuestions_rounds' $(TESTFLAGS) ./gateway

.PHONY: admit-races
admit-races: ## 10,000 claims end in every way, on PostgreSQL and on SQLite, while calls are admitted under them: none begins too late (minutes)
	BOSSMAN_ADMIT_RACES=10000 $(GO) test -count=1 -timeout=60m -v -run '^TestAdmit_races' $(TESTFLAGS) ./store/postgres ./store/sqlite

.PHONY: outages
outages: ## PostgreSQL away, and processes on SQLite suspended, for 0.5, 2 and 10 leases: no living holder loses its claim (twenty minutes)
	cd e2e && BOSSMAN_OUTAGES=1 $(GO) test -count=1 -timeout=20m -v -run '^TestOutage' $(TESTFLAGS) ./faults

.PHONY: siege
siege: ## slow posts, 20,000 idle connections and 100,000 wrong keys against a team's server; the others' p99 beside an undisturbed run (two minutes)
	cd e2e && BOSSMAN_SIEGE=1 $(GO) test -count=1 -timeout=20m -v -run '^TestSiege$$' $(TESTFLAGS) ./keys

.PHONY: hostile
hostile: ## every command and every tool in every hostile repository, board and configuration, and some while these change (twenty minutes; root for all of them)
	BOSSMAN_FLIPS=100 $(GO) test -count=1 -timeout=40m -v -run '_flip$$' $(TESTFLAGS) ./git ./store/sqlite
	cd e2e && BOSSMAN_HOSTILE=1 $(GO) test -count=1 -timeout=60m $(TESTFLAGS) ./hostile

.PHONY: e2e-agents
e2e-agents: ## the same with real coding agents (large downloads)
	@if [ -f e2e/go.mod ]; then cd e2e && BOSSMAN_E2E_AGENTS=1 $(GO) test -count=1 $(TESTFLAGS) ./agents; else echo "e2e: not here yet"; fi

.PHONY: crew
crew: ## a small crew of Claude Code, Codex and a program (a minute; large downloads, and recordings of the agents where they cannot be installed)
	cd e2e && BOSSMAN_E2E_AGENTS=1 $(GO) test -count=1 $(TESTFLAGS) -run '^TestCrew$$' ./crew

.PHONY: e2e-crew
e2e-crew: ## bossman work with Claude Code, Codex and a program on 40 tasks, while agents are killed, hang, forget to report, meet limits and ask (two minutes and 2 GB on two cores; large downloads)
	cd e2e && BOSSMAN_E2E_AGENTS=1 BOSSMAN_E2E_EXACT=1 BOSSMAN_CREW=1 $(GO) test -count=1 -timeout=20m -v $(TESTFLAGS) ./crew

.PHONY: demo
demo: ## film bossman work with Claude Code, Codex and a program for the README: docs/demo.svg (needs tmux; the downloads of e2e-crew; a minute)
	cd e2e && BOSSMAN_E2E_AGENTS=1 BOSSMAN_DEMO=$(CURDIR)/docs/demo.svg $(GO) test -count=1 -timeout=20m -v -run '^TestDemo$$' $(TESTFLAGS) ./crew

.PHONY: shots
shots: ## pictures of the pages for the docs, from a realistic board: docs/shots (needs chromium, fonts-inter, fonts-jetbrains-mono)
	cd e2e && dir=$$(mktemp -d) && FONTCONFIG_FILE=$(CURDIR)/e2e/web/fonts.conf BOSSMAN_SHOTS=$$dir BOSSMAN_PAGES=now,review,board,timeline \
		$(GO) test -count=1 -timeout=10m -run '^TestPages$$' $(TESTFLAGS) ./web && \
		cp $$dir/now-1440-light.png $$dir/now-390-dark.png $$dir/review-1440-light.png $$dir/board-1440-light.png $$dir/timeline-1440-dark.png $(CURDIR)/docs/shots/ && rm -r $$dir

.PHONY: idle
idle: ## what bossman work takes with four slots and no task, for ten minutes
	cd e2e && BOSSMAN_E2E_AGENTS=1 BOSSMAN_E2E_EXACT=1 BOSSMAN_E2E_IDLE=10m $(GO) test -count=1 -timeout=20m -v -run '^TestIdle$$' $(TESTFLAGS) ./crew

.PHONY: bench-stdio
bench-stdio: ## calls over a pipe, side by side with other implementations
	cd bench && $(GO) build -o bin/ ./cmd/... && bin/bench stdio $(BENCHFLAGS)

.PHONY: bench-http
bench-http: ## the same by HTTP, and what idle sessions take
	cd bench && $(GO) build -o bin/ ./cmd/... && bin/bench http -sizes 32,65536 -c 16 $(HTTPBENCHFLAGS) && bin/bench sessions -rounds 1 -check

.PHONY: bench-gateway
bench-gateway: ## what the gateway adds to a call, beside a program that copies bytes and httputil.ReverseProxy (three minutes)
	cd bench && $(GO) build -o bin/ ./cmd/... && bin/bench gateway $(GATEWAYBENCHFLAGS)

.PHONY: bench-clients
bench-clients: ## what a call costs a client: ours, go-sdk's and a bare one (six minutes)
	cd bench && $(GO) build -o bin/ ./cmd/... && bin/clients

.PHONY: bench-board
bench-board: ## claims on PostgreSQL and SQLite, beside what the databases give (under four minutes)
	cd bench && $(GO) build -o bin/ ./cmd/... && bin/bench board $(BOARDBENCHFLAGS)

.PHONY: bench-cell
bench-cell: ## how many agents one PostgreSQL and its replicas carry, working and waiting, behind ten million finished tasks and with a synchronous standby (two hours, 40 GB in TMPDIR)
	mkdir -p bench/bin && $(GO) build -o bench/bin/ ./cmd/bossman && cd bench && $(GO) build -o bin/ ./cmd/... && bin/bench cell $(CELLBENCHFLAGS)

.PHONY: bench-years
bench-years: ## every operation behind 10,000, a million and ten million finished tasks (half an hour, 25 GB in TMPDIR)
	cd bench && $(GO) build -o bin/ ./cmd/... && bin/bench years $(YEARSBENCHFLAGS)

.PHONY: bench-archive
bench-archive: ## what workers notice while a million tasks are archived, and whether an archive comes back whole (two hours, 8 GB in TMPDIR)
	mkdir -p bench/bin && $(GO) build -o bench/bin/ ./cmd/bossman && cd bench && $(GO) build -o bin/ ./cmd/... && bin/bench archive $(ARCHIVEBENCHFLAGS)

.PHONY: bench-smoke
bench-smoke: ## our client against other servers, the comparison of docs/compare.md, one short round of bench-stdio, bench-gateway, bench-board, bench-cell, bench-years and bench-archive
	@if [ -d bench/cmd/bench ]; then cd bench && $(GO) test ./interop ./compare/... ./cmd/bench && $(GO) build -o bin/ ./cmd/... && bin/bench stdio -rounds 1 -d 200ms -warm 50ms && bin/bench board -only postgres,sqlite -tasks 10000 -rounds 1 -d 200ms -warm 50ms && bin/bench gateway -rounds 1 -d 100ms -warm 50ms && $(GO) build -C .. -o bench/bin/ ./cmd/bossman && bin/bench cell -only load -once -from 5 -replicas 1 -finished 1000 -events 3 -tasks 2000 -live 300 -rounds 1 -d 500ms && bin/bench years -finished 200,2000 -open 500 -rounds 1 -d 1ms && bin/bench archive -finished 600 -open 3000 -imported 200 -events 4 -rounds 1 -d 500ms -warm 100ms; else echo "bench: not here yet"; fi

.PHONY: tidy-check
tidy-check: ## fail if a go.mod or go.sum is not tidy
	@for m in $(MODULES); do echo "tidy: $$m"; (cd $$m && $(GO) mod tidy -diff); done

.PHONY: versions
versions: ## print the versions of the tools in use
	@$(GO) version
	@$(TOOL) staticcheck -version
	@echo "gofumpt $$($(TOOL) gofumpt -version)"
	@if command -v node >/dev/null; then echo "node $$(node --version), npm $$(npm --version 2>/dev/null)"; else echo "no node: the end-to-end tests need it"; fi

.PHONY: ci
ci: ## everything that CI runs, in its order
	bash .ci/run
