# Kernels of the cuda device whose threads wait for each other in many places, on the host, where there is no GPU (tests/emulated.h).
. "$(dirname "$0")/lib.sh"

compiler=$(command -v c++ || command -v g++)
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2> /dev/null)

# expect_emulated WHICH: they compute what they should with whatever order of threads and copies.
expect_emulated() {
    local cuda
    if [ -n "$SANITIZE" ]; then skip "fibers and sanitizers do not go together"; return; fi
    if [ -z "$compiler" ]; then skip "there is no C++ compiler"; return; fi
    if [ -z "$nvcc" ]; then skip "there is no nvcc, and so no headers of CUDA"; return; fi
    cuda=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
    run "$compiler" -std=c++20 -O2 -w -fno-strict-aliasing -DJF_HAVE_CUDA -I"$ROOT/tests" -I"$ROOT/src" \
        -I"$ROOT/include" -isystem "$cuda/include" -o emulated "$ROOT/tests/emulated_kernels.cpp"
    expect_status 0
    run ./emulated "$1"
    expect_status 0
}

case_begin kernels__of_branches_go_back_as_they_should_whatever_the_order_of_threads
expect_emulated branches

case_begin kernels__of_1x1_convolutions_go_back_as_they_should_whatever_the_order_of_threads
expect_emulated products
