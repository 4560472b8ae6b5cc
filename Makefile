# `make demo` reads a photographed page, `make test` runs all tests; both need only Python 3.10–3.14, a C++20 compiler and make.
PYTHON ?= python3
VENV ?= .venv
BUILD := build
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
ifneq ($(shell command -v ccache),)
export CMAKE_CXX_COMPILER_LAUNCHER := ccache
# Clones in different folders share what they compile.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
endif

BIN := $(VENV)/bin
SOURCES := $(shell find cpp cmake python converter CMakeLists.txt pyproject.toml -type f -not -name '*.pyc')
TESTS := $(shell find tests/cpp third_party benchmarks/counts/*.cpp benchmarks/counts/CMakeLists.txt -type f 2>/dev/null)
CMAKE_GENERATOR ?= Ninja
export CMAKE_GENERATOR
IMAGE ?=

.PHONY: demo test conformance conformance-update generated mutated operators operators-check packages lint format clang tidy asan tsan fuzz scalar arm arm-models arm-size counts counts-update bench bench-ops bench-kernels bench-arm clean
.DELETE_ON_ERROR:

# --- The environment -------------------------------------------------------------------------------------------------

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))' || \
	  { echo "make: $(PYTHON) is no Python 3.10-3.14; give one: make PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@rm -rf $(BUILD)/dev  # it may belong to another Python
	@touch $@

# CMake and ninja are taken from the system if they are there and new enough, else from pip.
$(VENV)/.tools: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet 'scikit-build-core>=0.10' 'pybind11>=2.13'
	@$(PYTHON) -c 'import re, subprocess as s, sys; v = s.run(["cmake", "--version"], capture_output=True, text=True).stdout; \
	  sys.exit(not (m := re.search(r"(\d+)\.(\d+)", v)) or (int(m[1]), int(m[2])) < (3, 22))' 2>/dev/null \
	  || $(BIN)/python -m pip install --quiet cmake
	@command -v ninja >/dev/null || $(BIN)/python -m pip install --quiet ninja
	@touch $@

# pip's build and the C++ tests share one build folder, so that nothing is compiled twice.
INSTALL := $(BIN)/python -m pip install --quiet --no-build-isolation --config-settings=build-dir=$(BUILD)/dev

$(VENV)/.demo: $(VENV)/.tools $(SOURCES)
	@echo "building and installing jitney"
	$(INSTALL) '.[convert,vision]'
	@touch $@

$(VENV)/.dev: $(VENV)/.tools $(SOURCES) $(TESTS)
	@echo "building jitney and its tests"
	$(INSTALL) --config-settings=cmake.define.JITNEY_BUILD_TESTS=ON '.[dev]'
	@touch $@ $(VENV)/.demo

# --- What people ask for ---------------------------------------------------------------------------------------------

demo: $(VENV)/.demo
	$(BIN)/python examples/ocr/demo.py $(if $(IMAGE),--image '$(IMAGE)')

test: $(VENV)/.dev
	ctest --test-dir $(BUILD)/dev --output-on-failure --no-tests=error -j 2
	$(BIN)/python models/fetch.py >/dev/null
	cmake --install $(BUILD)/dev --component cpp --prefix $(BUILD)/prefix >/dev/null
	JITNEY_TEST_ALL=1 JITNEY_CPP_PREFIX=$(CURDIR)/$(BUILD)/prefix $(BIN)/python -m pytest $(PYTEST_ARGS)

# ONNX's own test-suite against the lists of what passes and what fails.
conformance: $(VENV)/.dev
	$(BIN)/python tests/conformance/run.py

conformance-update: $(VENV)/.dev
	$(BIN)/python tests/conformance/run.py --update

# The table of operators, from what is registered and what runs.
operators: $(VENV)/.dev
	$(BIN)/python -m jitney.converter.operators .

operators-check: $(VENV)/.dev
	$(BIN)/python -m jitney.converter.operators . --check

# Packages written for ONNX Runtime, unmodified, on it and on jitney.ort.
packages: $(VENV)/.dev
	$(BIN)/python tests/packages/check.py

# Drawn ops and chains, compared with ONNX Runtime and onnx's evaluator.
CASES ?= 20000
SEED ?= 1

generated: $(VENV)/.dev
	$(BIN)/python -m tests.generated --cases $(CASES) --seed $(SEED)

# Mutated ONNX files: each gives a typed error or a right result, in bounded time and memory.
FILES ?= 2000

mutated: $(VENV)/.dev
	$(BIN)/python -m tests.mutated --files $(FILES) --seed $(SEED)

# Jitney beside other runtimes, in an environment of their own: prints tables, and writes all figures to build/bench/results.json.
THREADS ?= 1,2
ROUNDS ?= 15
MODELS ?=
BENCH := $(BUILD)/bench
PEERS := onnxruntime openvino MNN ncnn

$(BENCH)/.made: $(VENV)/.tools $(SOURCES)
	@echo "setting up $(BENCH)/venv"
	$(PYTHON) -m venv $(BENCH)/venv
	rm -rf $(BENCH)/wheel && $(BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps --config-settings=build-dir=$(BUILD)/dev \
	  --wheel-dir $(BENCH)/wheel .
	$(BENCH)/venv/bin/python -m pip uninstall --quiet --yes jitney
	$(BENCH)/venv/bin/python -m pip install --quiet "$$(ls $(BENCH)/wheel/*.whl)[convert]"
	@for peer in $(PEERS) "--no-deps pnnx"; do \
	  $(BENCH)/venv/bin/python -m pip install --quiet $$peer || echo "make: $$peer is not to be had here; the tables will lack it"; done
	@touch $@

bench: $(BENCH)/.made
	cd benchmarks && $(CURDIR)/$(BENCH)/venv/bin/python -m side_by_side $(MODELS) --threads '$(THREADS)' --rounds $(ROUNDS) \
	  --cache $(CURDIR)/$(BENCH)/models --json $(CURDIR)/$(BENCH)/results.json

# Single operators and short chains beside ONNX Runtime: make bench-ops OPS='^conv/.*groups' THREADS=1
OPS ?=

bench-ops: $(BENCH)/.made
	cd benchmarks && $(CURDIR)/$(BENCH)/venv/bin/python -m single_ops '$(OPS)' --threads '$(THREADS)' --rounds $(ROUNDS) \
	  --json $(CURDIR)/$(BENCH)/ops.json

# Instructions on x86 and ARM, and static cycles of NEON loops, against the stored ones: gates that noise cannot touch.
COUNT = $(CURDIR)/$(BIN)/python -m counts --native $(CURDIR)/$(BUILD)/dev/benchmarks/counts/count_run \
  --arm $(CURDIR)/$(BUILD)/aarch64/benchmarks/counts/count_run --build $(CURDIR)/$(BUILD)

counts counts-update: $(VENV)/.dev
	cmake --preset aarch64 >/dev/null && cmake --build --preset aarch64 --target count_run
	cd benchmarks && PYTHONDONTWRITEBYTECODE=1 $(COUNT) $(if $(filter %-update,$@),--update)

# --- Quality ---------------------------------------------------------------------------------------------------------

CPP_FILES = $(shell find cpp tests/cpp tests/fuzz examples/cpp benchmarks -name '*.cpp' -o -name '*.h' -o -name '*.inc' 2>/dev/null)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf $(BUILD)/typecheck && mkdir -p $(BUILD)/typecheck
	cp -r python/jitney $(BUILD)/typecheck/jitney && cp -r converter $(BUILD)/typecheck/jitney/converter
	cd $(BUILD)/typecheck && $(CURDIR)/$(BIN)/mypy --config-file $(CURDIR)/pyproject.toml -p jitney
	cd models && $(CURDIR)/$(BIN)/mypy --config-file ../pyproject.toml fetch.py feeds.py
	cd benchmarks && MYPYPATH=$(CURDIR)/$(BUILD)/typecheck:$(CURDIR)/models $(CURDIR)/$(BIN)/mypy --config-file ../pyproject.toml \
	  -p counts -p side_by_side -p single_ops -p arm_peers
	clang-format-19 --dry-run --Werror $(CPP_FILES)

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	clang-format-19 -i $(CPP_FILES)

# The other builds are CMake presets, so that editors know them too.
BUILD_AND_TEST = cmake --build --preset $@ && ctest --preset $@ --no-tests=error -j 2

clang: $(VENV)/.tools
	cmake --preset clang -DCMAKE_CXX_FLAGS='-Werror -Wreserved-identifier' -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
	$(BUILD_AND_TEST)

# Large files first, so that no core waits long for the other at the end.
tidy: clang
	find cpp/src -name '*.cpp' -not -name '*_neon*' -not -name '*_armcrc*' -print0 | xargs -0 ls -S | \
	  xargs -P 2 -n 1 clang-tidy-19 --quiet -p $(BUILD)/clang

asan: $(VENV)/.tools
	cmake --preset asan
	$(BUILD_AND_TEST)

# TSan is for what runs on many threads: the pool, and sessions shared between threads.
tsan: $(VENV)/.tools
	cmake --preset tsan
	cmake --build --preset tsan --target test_base test_runtime
	ctest --preset tsan --no-tests=error -R 'cpp\.(base|runtime)$$'

FUZZ_SECONDS ?= 60

fuzz: $(VENV)/.tools
	cmake --preset fuzz -DJITNEY_FUZZ_SECONDS=$(FUZZ_SECONDS)
	cmake --build --preset fuzz --target fuzz_jny_reader

# An in-order core and one that has every extension run all; an older core that reorders runs only what asks the processor what it
# is, and the products and convolutions, whose kernels differ by core.
ARM_CPUS ?= cortex-a53 max
ARM_CPUS_BRIEF ?= cortex-a76
ARM_BRIEF := --source-file='*kernels_gemm*,*kernels_conv*,*matmul_step*,*conv_step*,*conv_chain*'

arm: $(VENV)/.tools
	for cpu in $(ARM_CPUS); do \
	  echo "== $$cpu" && cmake --preset aarch64 -DJITNEY_QEMU_CPU=$$cpu && cmake --build --preset aarch64 && \
	  ctest --preset aarch64 --no-tests=error -j 2 || exit 1; \
	done
	for cpu in $(ARM_CPUS_BRIEF); do \
	  echo "== $$cpu, in brief" && run="qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu $$cpu $(BUILD)/aarch64/tests/cpp" && \
	  $$run/test_base && $$run/test_cpu $(ARM_BRIEF) || exit 1; \
	done

# The program that runs whole models, against the installed C++ package.
BUILD_ARM_PROGRAM = cmake --install $(BUILD)/aarch64 --component cpp --prefix $(BUILD)/arm-prefix >/dev/null && \
  cmake -S tests/arm -B $(BUILD)/arm-model -DCMAKE_TOOLCHAIN_FILE=$(CURDIR)/cmake/aarch64-linux-gnu.cmake \
  -DCMAKE_BUILD_TYPE=Release -Djitney_DIR=$(CURDIR)/$(BUILD)/arm-prefix/lib/cmake/jitney && \
  cmake --build $(BUILD)/arm-model

# Whole models on ARM against ONNX Runtime here, through the installed C++ package.
arm-models: arm $(VENV)/.dev
	$(BUILD_ARM_PROGRAM)
	$(BIN)/python tests/arm/whole_models.py $(BUILD)/arm-model/run_model $(ARM_CPUS)

# Instructions, loads and stores of an inference on ARM beside ncnn's, counted under qemu. Needs mmdebstrap and PNNX=path of pnnx.
ARM_PYTHON := $(BUILD)/arm-python

$(ARM_PYTHON)/root:
	mkdir -p $(ARM_PYTHON)
	mmdebstrap --quiet --variant=extract --architectures=arm64 --include=python3-minimal,python3.11,libpython3.11-dev,libstdc++6,libgomp1 \
	  bookworm $@

$(ARM_PYTHON)/packages: $(VENV)/.tools
	$(BIN)/python -m pip install --quiet --target $@ --no-deps --platform manylinux_2_28_aarch64 --python-version 3.11 \
	  --only-binary=:all: ncnn numpy

PNNX ?= pnnx
ARM_PEERS ?= mobilenet_v2 resnet18

bench-arm: $(VENV)/.dev $(ARM_PYTHON)/root $(ARM_PYTHON)/packages
	cmake --preset aarch64 && cmake --build --preset aarch64 --target jitney
	$(BUILD_ARM_PROGRAM)
	cd benchmarks && PYTHONDONTWRITEBYTECODE=1 $(CURDIR)/$(BIN)/python -m arm_peers $(ARM_PEERS) \
	  --program $(CURDIR)/$(BUILD)/arm-model/run_model --root $(CURDIR)/$(ARM_PYTHON)/root \
	  --packages $(CURDIR)/$(ARM_PYTHON)/packages --pnnx $(PNNX) --work $(CURDIR)/$(BUILD)/arm-peers

# The most bytes that the stripped CPU library for 64-bit ARM may have.
ARM_SIZE_LIMIT := 2000000

arm-size: $(VENV)/.tools
	cmake --preset aarch64 -B $(BUILD)/aarch64-shared -DBUILD_SHARED_LIBS=ON -DJITNEY_BUILD_TESTS=OFF
	cmake --build $(BUILD)/aarch64-shared --target jitney
	aarch64-linux-gnu-strip -o $(BUILD)/libjitney-stripped.so $(BUILD)/aarch64-shared/libjitney.so
	@size=$$(stat -c %s $(BUILD)/libjitney-stripped.so); echo "stripped library for aarch64: $$size bytes, allowed are $(ARM_SIZE_LIMIT)"; \
	  [ $$size -le $(ARM_SIZE_LIMIT) ]

# Real models on the portable kernels, and on AVX2 where the processor has more.
scalar: $(VENV)/.dev
	$(BIN)/python models/fetch.py >/dev/null
	JITNEY_TEST_ALL=1 JITNEY_ISA=scalar $(BIN)/python -m pytest -q tests/python/test_models.py -k agrees
	if [ "$$($(BIN)/python -c 'from jitney import _core; print(_core.isa())')" = avx512 ]; then \
	  JITNEY_TEST_ALL=1 JITNEY_ISA=avx2 $(BIN)/python -m pytest -q tests/python/test_models.py -k agrees; fi

# Every kernel on the shapes of real layers: nanoseconds, GFLOP/s, percentage of the measured peak.
BENCH_ARGS ?=

bench-kernels: $(VENV)/.tools
	cmake --preset release -B $(BUILD)/bench -DJITNEY_BUILD_TESTS=OFF -DJITNEY_BUILD_BENCHMARKS=ON
	cmake --build $(BUILD)/bench --target bench_kernels
	$(BUILD)/bench/benchmarks/kernels/bench_kernels $(BENCH_ARGS)

clean:
	rm -rf $(VENV) $(BUILD) out
