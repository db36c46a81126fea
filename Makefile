# Each target sets up what it needs. SWIFTFLAGS goes to every build, so that one set of flags builds everything once.
SWIFTFLAGS ?=
DEBUG   := --scratch-path .build
# Swift's runtime is linked into the programs: they run where no Swift is installed, and a frame finds fewer cold pages.
STATIC  := $(if $(filter Linux,$(shell uname)),--static-swift-stdlib)
RELEASE := --scratch-path .build-release --configuration release $(STATIC)
PYTHON  := .tools/venv/bin/python -B

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup build demo test bench consumers docs lint format clean
.PHONY: api apple deb deb-check docker-check examples fuzz gateway faults sanitize memcheck soak simulate simulate-mutants

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install what building and testing need
	@scripts/setup test

build: ## build the framesocket command and the benchmarks: .build-release/release
	@scripts/setup build
	swift build $(RELEASE) $(SWIFTFLAGS)

demo: ## send the screens in Fixtures from one process to another, and show what arrived
	@scripts/setup build
	swift build $(RELEASE) $(SWIFTFLAGS) --product framesocket
	.build-release/release/framesocket demo

test: ## run all tests; FILTER=NAME runs the Swift tests that match
	@scripts/setup test
	swift build $(DEBUG) $(SWIFTFLAGS) --build-tests
	PEERS='$(if $(FILTER),,$(PYTHON) Tests/Peers/test_peers.py)' scripts/test $(if $(FILTER),'$(FILTER)')

fuzz: ## run the fuzzers, each for SECONDS (60) or RUNS inputs; TARGETS names some of them
	@scripts/setup build
	RUNS=$(RUNS) scripts/fuzz $(or $(SECONDS),60) $(TARGETS)

bench: ## measure: ARGUMENTS go to framesocket-bench
	@scripts/setup build
	swift build $(RELEASE) $(SWIFTFLAGS) --product framesocket-bench
	.build-release/release/framesocket-bench $(ARGUMENTS)

faults: ## run the transport tests under SEEDS faulty systems (20), and kill either side KILLS times (50)
	@scripts/setup test
	swift build $(DEBUG) $(SWIFTFLAGS) --build-tests
	scripts/check-faults --first $(or $(FIRST),1) --seeds $(or $(SEEDS),20) --kills $(or $(KILLS),50) $(if $(HIDDEN),--hidden $(HIDDEN))

sanitize: ## run the tests under the sanitizers: ONLY=address or thread; FILTER=NAME runs those that match; TARGETS are built
	@scripts/setup test
	$(if $(TARGETS),TEST_TARGETS='$(TARGETS)') scripts/check-sanitizers $(ONLY) $(if $(FILTER),--filter '$(FILTER)') -- $(SWIFTFLAGS)

memcheck: ## run transport tests under valgrind; FILTER=NAME runs those that match
	@scripts/setup check
	swift build $(DEBUG) $(SWIFTFLAGS) --build-tests
	scripts/check-memory $(if $(FILTER),--filter '$(FILTER)')

soak: ## move frames for MINUTES (2) with peers that come, go, stall and lie; SEED=N repeats
	@scripts/setup build
	SOAK=1 swift build $(RELEASE) $(SWIFTFLAGS) --product FrameSocketSoak
	.build-release/release/FrameSocketSoak --minutes $(or $(MINUTES),2) $(if $(SEED),--seed $(SEED))

simulate: ## run SEEDS histories (100000) of simulated connections, from seed FIRST; ARGUMENTS go to the simulator
	@scripts/setup build
	SIMULATE=1 swift build $(RELEASE) $(SWIFTFLAGS) --product FrameSocketSimulation
	.build-release/release/FrameSocketSimulation --seeds $(or $(SEEDS),100000) --first $(or $(FIRST),1) $(ARGUMENTS)

simulate-mutants: ## check that the simulator finds each mutation of Tests/Simulation/Mutants; ONLY=NAME runs one
	@scripts/setup build
	scripts/check-mutants $(if $(ONLY),--only $(ONLY)) -- $(SWIFTFLAGS)

consumers: ## build the packages that depend on this one, and look at what they link
	@scripts/setup build
	scripts/check-consumers $(SWIFTFLAGS)

deb: ## build the Debian package of the program: .build-deb/framesocket_VERSION_ARCHITECTURE.deb
	@scripts/setup deb
	swift build $(RELEASE) $(SWIFTFLAGS) --product framesocket
	scripts/make-deb

deb-check: ## check that package, install it in a new Debian system, and run it there; ARGUMENTS=--no-root installs nothing
	@scripts/setup deb
	scripts/check-deb $(ARGUMENTS)

docker-check: ## check the commands of the Dockerfile without an engine, in a new Debian system
	@scripts/setup deb
	scripts/check-dockerfile

examples: ## build and run the programs in Examples
	@scripts/setup build
	scripts/check-examples $(SWIFTFLAGS)

gateway: ## watch a socket in ten browsers by a WebRTC gateway (Examples/Gateway); ARGUMENTS go to scripts/check-gateway
	@scripts/setup gateway
	swift build $(RELEASE) $(SWIFTFLAGS) --product framesocket
	scripts/check-gateway $(ARGUMENTS)

apple: ## compile the Apple sources against stubs of the frameworks, run broadcasts over these, and check the manifest for iOS
	@scripts/setup build
	scripts/check-apple $(SWIFTFLAGS)
	scripts/check-manifest

api: ## compare the public API with docs/api; UPDATE=1 records it
	@scripts/setup build
	scripts/check-api $(if $(UPDATE),--update) -- $(SWIFTFLAGS)

docs: ## compile the snippets of the articles, and make the site of every library: .build-docs
	@scripts/setup build
	scripts/check-snippets $(SWIFTFLAGS)
	scripts/make-docs $(SWIFTFLAGS)

lint: ## check formatting, that nothing in Sources ends the process, that state machines only decide, and that mutations fit them
	swift format lint --strict --parallel --recursive Sources Tests Examples Package.swift
	scripts/check-traps
	scripts/check-machines
	scripts/check-mutants --fits

format: ## format the sources in place
	swift format --in-place --parallel --recursive Sources Tests Examples Package.swift

clean: ## remove what was built; .tools stays
	rm -rf .build .build-*
