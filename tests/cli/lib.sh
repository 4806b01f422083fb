# What the scripts of tests/cli have in common. A script is a row of cases:
#
#   . "$(dirname "$0")/lib.sh"
#   case_begin version__names_the_program
#   run jointflow --version
#   expect_status 0
#   expect_line 'jointflow [0-9.]*'
#
# Every case starts in an empty folder of its own; the programs of $BUILD come first in PATH; $ROOT is the checkout.
# A case fails with its first unmet expectation; the script goes on, and closes with "N passed, N failed, N skipped".
set -u

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=$(cd "$ROOT" && cd "${BUILD:-build}" && pwd) || exit 2
export ROOT BUILD PATH="$BUILD:$PATH" LC_ALL=C
SANITIZE=$(sed -n 's/^JOINTFLOW_SANITIZE:[A-Z]*=//p' "$BUILD/CMakeCache.txt") # which the programs were built with

cases_passed=0 cases_failed=0 cases_skipped=0
case_name="" case_problem="" case_skip="" case_start=0
status="" # of the last command given to run
work=$(mktemp -d "${TMPDIR:-/tmp}/jointflow-cli-XXXXXX") || exit 2

now_ms() { echo $(($(date +%s%N) / 1000000)); }

show_file() { # NAME FILE: the first lines of what a command wrote
    [ -s "$2" ] && head -n 20 "$2" | sed "s/^/      $1| /"
}

case_end() {
    [ -n "$case_name" ] || return 0
    local word=ok ms=$(($(now_ms) - case_start))
    if [ -n "$case_problem" ]; then word=FAIL cases_failed=$((cases_failed + 1))
    elif [ -n "$case_skip" ]; then word=skip cases_skipped=$((cases_skipped + 1))
    else cases_passed=$((cases_passed + 1)); fi
    printf '%-4s  %-90s %4d.%03d s\n' "$word" "$case_name" $((ms / 1000)) $((ms % 1000))
    if [ $word != ok ]; then printf '      %s\n' "${case_problem:-$case_skip}"; fi
    if [ $word = FAIL ]; then show_file 'out' "$work/stdout"; show_file 'err' "$work/stderr"; fi
    case_name=""
}

# Ends the case before and starts one named for what it promises.
case_begin() {
    case_end
    case_name=$1 case_problem="" case_skip="" case_start=$(now_ms) status=""
    rm -rf "$work/case" "$work/stdout" "$work/stderr"
    mkdir "$work/case" && cd "$work/case" || exit 2
}

case_fail() { [ -n "$case_problem$case_skip" ] || case_problem="line ${BASH_LINENO[1]}: $1"; }

# skip WHY: from here on the case runs nothing and expects nothing.
skip() { case_skip=$1; }

# Runs a command; what it writes and its exit status are kept for the expectations.
run() {
    [ -z "$case_skip" ] || return 0
    "$@" > "$work/stdout" 2> "$work/stderr" < /dev/null
    status=$?
}

expect_status() { [ "$status" = "$1" ] || case_fail "exit status is ${status:-missing}, expected $1"; }
expect_failure() { [ "${status:-0}" -ne 0 ] || case_fail "exit status is ${status:-missing}, expected another than 0"; }

# A whole line of the output, as an extended regular expression.
expect_line() { grep -qxE -e "$1" "$work/stdout" || case_fail "no line of the output is: $1"; }
expect_no_line() { ! grep -qxE -e "$1" "$work/stdout" || case_fail "a line of the output is: $1"; }
expect_error_line() { grep -qxE -e "$1" "$work/stderr" || case_fail "no line of the errors is: $1"; }

# How many lines went to standard output or standard error.
expect_line_count() {
    [ "$(count_lines stdout)" = "$1" ] || case_fail "the output has $(count_lines stdout) lines, expected $1"
}
expect_error_line_count() {
    [ "$(count_lines stderr)" = "$1" ] || case_fail "the errors have $(count_lines stderr) lines, expected $1"
}
count_lines() { if [ -e "$work/$1" ]; then wc -l < "$work/$1"; else echo 0; fi; }

expect_file() { [ -s "$1" ] || case_fail "$1 is missing or empty"; }
expect_no_file() { [ ! -e "$1" ] || case_fail "$1 exists"; }
expect_same() { cmp -s "$1" "$2" || case_fail "$1 and $2 differ"; }

# expect CONDITION...: any command that has to succeed, as in: expect test "$a" -lt "$b"
expect() { "$@" > /dev/null 2>&1 || case_fail "does not hold: $*"; }

finish() {
    local code=$?
    if [ $code -ne 0 ] && [ -n "$case_name" ]; then case_problem="the script ended here with status $code"; fi
    case_end
    cd / && rm -rf "$work"
    echo "$cases_passed passed, $cases_failed failed, $cases_skipped skipped"
    [ $cases_failed -eq 0 ] && [ $code -eq 0 ]
    exit
}
trap finish EXIT
trap 'exit 143' TERM # the time limit of tests/run
