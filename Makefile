# The short way to everything. Packages come from packages.txt, the build itself is CMake's.
PREFIX ?= /usr/local
WERROR ?= OFF
PYTHON ?= /usr/bin/python3
# Where make python installs the package.
VENV ?= out/python
# Seconds a unit test may take under the sanitizers.
DEBUG_TIME_LIMIT ?= 600
# Unit tests, by parts of their names, that the thread sanitizer watches.
THREAD_TESTS ?= pool batches train__ one_model__many_threads_get handles__ \
                 device_cpu__law_has device_cpu__dense_coupling_has device_cpu__image_coupling_has

# Under the address and undefined-behaviour sanitizers: unit tests that are left out, by parts of their names, since they take
# minutes there and run the same code as smaller ones, and the scripts of the command line that read what others have written.
# DEBUG_WITHOUT= and DEBUG_SCRIPTS= take all of them: hours.
DEBUG_WITHOUT ?= parity__ a_failed_allocation ranks_use__ shared__ memory__too_little without_memory takes_no_copy \
                 generations__killed generations__a_bit export_onnx__ colour_images__ image_model__ image_flow__ problems__ \
                 bounds__ calibration__ two_million many_threads_judge many_threads_get that_is_lost device_memory__ \
                 judge__every embed__stopped embed__training has_the_same_bits device_cpu_baseline device_cpu_avx2 \
                 dropout__ no_flipped_byte golden__ flow__devices _integrates_to_1
DEBUG_SCRIPTS ?= data export failures files help links models options series strangers tables

# Those that a GPU is asked to pass.
GPU_TESTS ?= device_cuda profile golden flow__ embed__ image_flow transforms loss__ model__ stored_models \
             one_model__many_threads_get parity precision train_devices device_memory

# Seconds of fuzzing for each reader.
FUZZ_SECONDS ?= 60

# Data sets that lie beside the checkout are found without being asked for.
ifeq ($(origin JOINTFLOW_DATA),undefined)
ifneq ($(wildcard ../shared/data/.),)
export JOINTFLOW_DATA := $(abspath ../shared/data)
endif
endif

.PHONY: deb deb-packages docs docs-packages help build python demo demo-images test exhaustive-test debug-build debug-test debug-cli-test thread-build thread-test gpu-test emulated emulated-test emulated-debug \
        fuzz-build fuzz abuse abuse-short format check-format check-includes golden bench install clean packages \
        develop-packages export-packages fuzz-packages browser-packages mpi-packages \
        measure-packages python-packages

help: ## this list
	@echo "make TARGET, where TARGET is one of:"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p' Makefile | expand -t 18

build: packages ## build the library, the command line and the tests into build/
	cmake --preset release -DJOINTFLOW_WERROR=$(WERROR)
	cmake --build --preset release

demo: build ## build, then train a first model and draw its pictures into out/demo/
	build/jointflow train recipes/crescents.ini -o out/demo --force
	@echo; echo "Finished. Open these to see what the model has learned:"
	@find out/demo -name '*.html' -o -name '*.png' -o -name '*.svg' | sort

demo-images: build ## build, train two image models on drawn glyphs (some five minutes), enlarge a 7x7 image with them
	build/jointflow train recipes/glyphs-sr-7-14.ini -o out/glyphs-sr-7-14 --force
	build/jointflow train recipes/glyphs-sr-14-28.ini -o out/glyphs-sr-14-28 --force
	build/jointflow superres out/glyphs-sr-7-14 out/glyphs-sr-14-28 --row 4 -o out/glyphs-superres.png
	@echo; echo "Finished. Open out/glyphs-superres.png, and the report.html of both runs."

python: build python-packages ## build, then install the Python package into a virtual environment, VENV
	$(PYTHON) -m venv --system-site-packages $(VENV)
	JOINTFLOW_LIBRARY=$(CURDIR)/build/libjointflow.so $(VENV)/bin/pip install --no-build-isolation --no-index .

test: mpi-packages build emulated browser-packages export-packages python-packages ## build, then run all tests
	tests/run

exhaustive-test: build ## run the unit tests with all of their cases, of which make test tries a sample (hours)
	JOINTFLOW_TESTS_ALL=1 tests/run --unit --timeout 7200

debug-build: packages
	cmake --preset debug -DJOINTFLOW_WERROR=$(WERROR)
	cmake --build --preset debug

debug-test: debug-build ## run the unit tests under the address and undefined-behaviour sanitizers
	BUILD=build-debug tests/run --unit --timeout $(DEBUG_TIME_LIMIT) $(addprefix --without ,$(DEBUG_WITHOUT))

# Suppressions that were used would be told on standard error, which the tests read.
debug-cli-test: debug-build ## run the tests of the command line under the same sanitizers
	LSAN_OPTIONS=print_suppressions=0 SCRIPT_TIME_LIMIT=1200 BUILD=build-debug tests/run --cli $(DEBUG_SCRIPTS:%=tests/cli/%.sh)

gpu-test: build ## compare the cuda device with the reference, where there is a GPU
	tests/run --unit $(GPU_TESTS)

# The same tests with an emulated GPU. A build of its own, since nothing but tests needs it.
emulated: build
	cmake --build --preset release --target jointflow-tests-emulated

emulated-test: emulated ## the same on an emulated one, where there is none: all sizes, which takes hours
	EMULATED_ALL=1 EMULATED_TIME_LIMIT=7200 tests/run --emulated emulated__ kernels__ $(GPU_TESTS)

# Leaks are looked for elsewhere: of what only fibers know nothing is found.
emulated-debug: debug-build ## some of these under the address and undefined-behaviour sanitizers (half an hour)
	cmake --build --preset debug --target jointflow-tests-emulated
	ASAN_OPTIONS=detect_leaks=0 BUILD=build-debug EMULATED_TIME_LIMIT=3600 tests/run --emulated

thread-build: packages
	cmake --preset thread -DJOINTFLOW_WERROR=$(WERROR)
	cmake --build --preset thread

thread-test: thread-build ## run the unit tests of threads, passes and training under the thread sanitizer
	BUILD=build-thread tests/run --unit --timeout $(DEBUG_TIME_LIMIT) $(THREAD_TESTS)

abuse: build develop-packages ## kills, signals, failing allocations, full disks: all of them (an hour on two cores)
	$(PYTHON) tests/abuse/run

abuse-short: build develop-packages ## some of them, in less than two minutes
	$(PYTHON) tests/abuse/run --short

fuzz-build: packages fuzz-packages
	cmake --preset fuzz -DJOINTFLOW_WERROR=$(WERROR)
	cmake --build --preset fuzz

fuzz: fuzz-build ## search for inputs that break a reader, FUZZ_SECONDS for each; prints a table
	tests/fuzz/run --seconds $(FUZZ_SECONDS)

format: develop-packages ## rewrite the C files as .clang-format says
	scripts/check-format --fix

check-format: develop-packages ## check the looks of the C files
	scripts/check-format

check-includes: develop-packages ## check which folder includes which, and that the library never prints or exits
	scripts/check-includes

golden: measure-packages ## write the golden values of the tests again, with an independent framework
	$(PYTHON) tests/golden/check_torch_flow.py
	$(PYTHON) tests/golden/make_golden.py

bench: build measure-packages ## measure the speed, beside that of other libraries
	$(PYTHON) bench/run

deb: build deb-packages ## build Debian packages into build/packages/
	cpack --config build/CPackConfig.cmake -G DEB -B build/packages
	@ls build/packages/*.deb

docs: docs-packages ## write the reference of the interface, from its header, into out/reference/
	mkdir -p out
	doxygen docs/Doxyfile
	@echo out/reference/html/jointflow_8h.html

install: build ## install below PREFIX, by default /usr/local
	cmake --install build --prefix $(abspath $(PREFIX))

clean: ## remove what was built
	rm -rf build build-debug build-thread build-fuzz build-venv build-node

# With SKIP_PACKAGES=1 nothing is looked for or installed.
packages:
	@$(if $(SKIP_PACKAGES),:,scripts/install-packages build)
develop-packages:
	@$(if $(SKIP_PACKAGES),:,scripts/install-packages develop)
browser-packages:
	@$(if $(SKIP_PACKAGES),:,scripts/install-packages browser || echo "make: without them tests of the page are skipped")
export-packages:
	@$(if $(SKIP_PACKAGES),:,scripts/install-packages export || echo "make: without them exported ONNX graphs are not run")
mpi-packages:
	@$(if $(SKIP_PACKAGES),:,scripts/install-packages mpi || echo "make: without them several processes are not tested")
fuzz-packages:
	@$(if $(SKIP_PACKAGES),:,scripts/install-packages fuzz)
python-packages:
	@$(if $(SKIP_PACKAGES),:,scripts/install-packages python)
docs-packages:
	@$(if $(SKIP_PACKAGES),:,scripts/install-packages docs)
deb-packages:
	@$(if $(SKIP_PACKAGES),:,scripts/install-packages deb)
measure-packages:
	@$(if $(SKIP_PACKAGES),:,scripts/install-packages measure)
