# Each target sets up what it needs. SWIFTFLAGS goes to every build, so that one set of flags builds everything once.
SWIFTFLAGS ?=
# The tests' build: see OPTIMIZED in Package.swift.
DEBUG   := OPTIMIZED=1 swift build --scratch-path .build
# Links Swift's runtime into the programs: they run where no Swift is installed, and a frame touches fewer cold pages.
STATIC  := $(if $(filter Linux,$(shell uname)),--static-swift-stdlib)
RELEASE := --scratch-path .build-release --configuration release $(STATIC)
PYTHON  := .tools/venv/bin/python -B

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup build demo test bench costs consumers docs lint format clean
.PHONY: api apple kqueue interop deb deb-check docker-check capture examples fuzz gateway faults sanitize memcheck soak simulate simulate-mutants

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install what is needed to build and test
	@scripts/setup test

build: ## build the framesocket command and the benchmarks into .build-release/release
	@scripts/setup build
	swift build $(RELEASE) $(SWIFTFLAGS)

# In the build that the tests continue: a release takes twice as long.
demo: ## send the images of Fixtures from one process to another, and compare what arrives
	@scripts/setup build
	$(DEBUG) $(SWIFTFLAGS) --product framesocket
	scripts/demo .build/debug/framesocket

test: ## run all tests; FILTER=NAME runs only the Swift tests that match, TARGETS=NAME builds and runs only those of one target
	@scripts/setup test
ifdef TARGETS
	TEST_TARGETS='$(TARGETS)' swift build --scratch-path .build-targets $(SWIFTFLAGS) --build-tests
	TEST_TARGETS='$(TARGETS)' BUILD=.build-targets scripts/test $(if $(FILTER),'$(FILTER)')
else
	$(DEBUG) $(SWIFTFLAGS) --build-tests
	PEERS='$(if $(FILTER),,$(PYTHON) Tests/Peers/test_peers.py)' scripts/test $(if $(FILTER),'$(FILTER)')
endif

fuzz: ## run the fuzzers, each for SECONDS (60) or RUNS inputs; TARGETS selects some of them
	@scripts/setup build
	RUNS=$(RUNS) scripts/fuzz $(or $(SECONDS),60) $(TARGETS)

bench: ## run the benchmarks; ARGUMENTS are passed to framesocket-bench
	@scripts/setup build
	swift build $(RELEASE) $(SWIFTFLAGS) --product framesocket-bench
	.build-release/release/framesocket-bench $(ARGUMENTS)

costs: ## count the instructions that a frame costs at either end, under callgrind
	@scripts/setup check
	swift build $(RELEASE) $(SWIFTFLAGS) --product framesocket
	scripts/check-costs

faults: ## run the transport tests with injected faults for SEEDS seeds (20), and kill either side KILLS times (50)
	@scripts/setup test
	$(DEBUG) $(SWIFTFLAGS) --build-tests
	scripts/check-faults

sanitize: ## run the tests with sanitizers; ONLY=address or ONLY=thread selects one, FILTER=NAME tests, TARGETS what is built
	@scripts/setup test
	$(if $(TARGETS),TEST_TARGETS='$(TARGETS)') scripts/check-sanitizers $(SWIFTFLAGS)

interop: ## run this version's program against an earlier REVISION's (44f4fd9), in both directions
	@scripts/setup test
	swift build $(RELEASE) $(SWIFTFLAGS) --product framesocket
	scripts/check-interop $(REVISION)

memcheck: ## run the transport tests under valgrind; FILTER=NAME selects tests
	@scripts/setup check
	$(DEBUG) $(SWIFTFLAGS) --build-tests
	ONLY=memory scripts/check-sanitizers

soak: ## move frames for MINUTES (2) with peers that connect, leave, stall and misbehave; SEED=N repeats a run
	@scripts/setup build
	SOAK=1 swift build $(RELEASE) $(SWIFTFLAGS) --product FrameSocketSoak
	.build-release/release/FrameSocketSoak --minutes $(or $(MINUTES),2) $(if $(SEED),--seed $(SEED))

simulate: ## simulate SEEDS connection histories (100000) from seed FIRST; ARGUMENTS are passed to the simulator
	@scripts/setup build
	SIMULATE=1 swift build $(RELEASE) $(SWIFTFLAGS) --product FrameSocketSimulation
	.build-release/release/FrameSocketSimulation --seeds $(or $(SEEDS),100000) --first $(or $(FIRST),1) $(ARGUMENTS)
	@digest() { .build-release/release/FrameSocketSimulation --seeds 500 --no-trace | sed -n 's/^digest of the events: //p'; }; \
		first=$$(digest) second=$$(digest); [ -n "$$first" ] && [ "$$first" = "$$second" ] || \
		{ echo "simulate: the same 500 seeds gave other histories: digests $$first and $$second" >&2; exit 1; }

simulate-mutants: ## check that the simulator finds each mutation in Tests/Simulation/Mutants; ONLY=NAME runs one
	@scripts/setup build
	scripts/check-mutants $(if $(ONLY),--only '$(ONLY)')

consumers: ## build the packages that depend on this one and check what they link
	@scripts/setup build
	scripts/check-consumers $(SWIFTFLAGS)

deb: ## build the Debian package .build-deb/framesocket_VERSION_ARCHITECTURE.deb
	@scripts/setup deb
	swift build $(RELEASE) $(SWIFTFLAGS) --product framesocket
	scripts/make-deb

deb-check: ## check the Debian package, then install and run it in a clean system; ARGUMENTS=--no-root skips installing
	@scripts/setup deb
	scripts/check-package deb $(ARGUMENTS)

docker-check: ## check the commands of the Dockerfile in a clean Debian system, without Docker
	@scripts/setup deb
	scripts/check-package docker

examples: ## build and run the programs in Examples
	@scripts/setup capture
	swift build $(RELEASE) $(SWIFTFLAGS) --product framesocket
	scripts/check-examples $(SWIFTFLAGS)
	$(if $(filter Linux,$(shell uname)),$(MAKE) capture)

capture: ## check Examples/ScreenCapture for longer (ARGUMENTS='--minutes 20'), measure it beside ffmpeg (--figures), or make docs/images (--pictures)
	@scripts/setup capture
	swift build $(RELEASE) $(SWIFTFLAGS) --product framesocket
	swift build --package-path Examples/ScreenCapture --scratch-path .build-capture --configuration release $(STATIC) $(SWIFTFLAGS)
	$(PYTHON) Tests/Capture/check --program .build-capture/release/ScreenCapture $(ARGUMENTS)

gateway: ## show a socket in ten browsers through a WebRTC gateway; ARGUMENTS are passed to Tests/Gateway/check
	@scripts/setup gateway
	swift build $(RELEASE) $(SWIFTFLAGS) --product framesocket
	Tests/Gateway/check $(ARGUMENTS)

apple: ## compile all libraries for Apple systems, run broadcasts with stubs of the frameworks, check the iOS manifest
	@scripts/setup apple
	scripts/check-libraries apple $(SWIFTFLAGS)

kqueue: ## run the transport tests through the code for Apple systems, with a kqueue that is made of epoll
	@scripts/setup test
	KQUEUE=1 TEST_TARGETS=FrameTransportTests swift build --scratch-path .build-kqueue $(SWIFTFLAGS) --build-tests
	TEST_TARGETS=FrameTransportTests BUILD=.build-kqueue scripts/test $(if $(FILTER),'$(FILTER)')

api: ## compare the public API with docs/api; UPDATE=1 records it
	@scripts/setup build
	scripts/check-libraries api $(if $(UPDATE),--update) $(SWIFTFLAGS)

docs: ## compile the snippets of articles and comments, and build the documentation site into .build-docs
	@scripts/setup build
	scripts/check-libraries snippets docs $(SWIFTFLAGS)

lint: ## check formatting, traps, state machines, and that the mutations apply
	swift format lint --strict --parallel --recursive Sources Tests Examples Package.swift
	scripts/check-sources
	scripts/check-mutants --fits

format: ## format the sources in place
	swift format --in-place --parallel --recursive Sources Tests Examples Package.swift

clean: ## remove build products; .tools stays
	rm -rf .build .build-*
