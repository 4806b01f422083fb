# Several ranks share the runs of a sweep: each run is one rank's, and the results are those of one process.
. "$(dirname "$0")/lib.sh"
TINY="$ROOT/tests/cli/tiny.ini"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # tests may be root's
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
# Open MPI leaves memory behind, of plug-ins that are gone by then: no suppression could name them.
[ -z "$SANITIZE" ] || export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

needs_mpi() {
    command -v mpirun > /dev/null || skip "there is no mpirun: install the packages of [mpi] in packages.txt"
    [ -e "$BUILD/libjointflow-mpi.so" ] || skip "the module for MPI was not built: install the packages of [mpi] in packages.txt"
}

# together N FOLDER [OPTION ...]: the sweep of three rates and two seeds
RATES="--set train.rate=1e-2,1e-3,1e-4 --seeds 2"
together() {
    local n=$1 folder=$2
    shift 2
    run timeout 120 mpirun -n "$n" jointflow sweep "$TINY" $RATES -o "$folder" --threads 1 "$@"
}

# Two folders hold the same models and the same table, but for the seconds.
expect_same_sweep() {
    [ -n "$case_skip" ] && return
    local model
    for model in "$1"/*/seed-*/model.safetensors; do expect_same "$model" "$2/${model#*/}"; done
    sed 's/,[^,]*$//' "$1/sweep.csv" > a.csv
    sed 's/,[^,]*$//' "$2/sweep.csv" > b.csv
    expect_same a.csv b.csv
}
count() { [ -n "$case_skip" ] || expect test "$(grep -c "$1" "$2")" -eq "$3"; }

case_begin ranks_sweep__each_run_is_that_of_one_process_and_one_rank_tells
needs_mpi
run jointflow sweep "$TINY" $RATES -o one -q --threads 1
for n in 2 4 8; do # 8: two have nothing to do
    together $n run$n
    expect_status 0
    expect_line "$n ranks share 6 runs"
    expect_line 'best: train.rate=1e-2, loss .*'
    count '^best' "$work/stdout" 1
    expect_same_sweep one run$n
    [ -n "$case_skip" ] || expect test -s run$n/sweep.png
done

case_begin ranks_sweep__goes_on_with_any_number_of_ranks_and_trains_nothing_twice
needs_mpi
together 2 s --part 2/3 # a third of the runs
expect_status 0
expect_line '2 ranks share 2 runs'
expect_line '2 of 6 runs are done; the others are those of other parts, or still to come.'
[ -n "$case_skip" ] || before=$(stat -c %Y%i s/train.rate=1e-2/seed-1/model.safetensors)
together 3 s
expect_status 0
expect_line '3 ranks share 4 runs'
[ -n "$case_skip" ] || expect test "$(stat -c %Y%i s/train.rate=1e-2/seed-1/model.safetensors)" = "$before"
together 2 s --show
expect_status 0
expect_line '2 ranks share 0 runs'
run jointflow sweep "$TINY" $RATES -o one -q --threads 1
expect_same_sweep one s

case_begin ranks_sweep__a_run_that_fails_is_named_and_the_others_go_on
needs_mpi
mkdir -p s/train.rate=1e-3
echo > s/train.rate=1e-3/seed-1 # where a folder has to be
together 2 s -q
expect_failure
expect_error_line 'jointflow: rank [01]: s/train.rate=1e-3/seed-1: .*'
expect_error_line 'jointflow: 1 run gave no result'
[ -n "$case_skip" ] || expect test "$(ls s/*/seed-*/result.csv | wc -l)" -eq 5
[ -n "$case_skip" ] || expect test "$(wc -l < s/sweep.csv)" -eq 7
rm -f s/train.rate=1e-3/seed-1
together 2 s -q
expect_status 0
count ',,' s/sweep.csv 0

case_begin ranks_sweep__ranks_with_other_settings_are_refused
needs_mpi
run mpirun -n 1 jointflow sweep "$TINY" --set train.rate=1e-2,1e-3 -o s -q : -n 1 jointflow sweep "$TINY" --set train.rate=1e-2,1e-4 -o s -q
expect_failure
expect_error_line 'jointflow: rank 1: another choice of settings and seeds than rank 0: "train.rate=1e-4", there "train.rate=1e-3"'
run mpirun -n 1 jointflow sweep "$TINY" --set train.batch=50 -o s -q : -n 1 jointflow sweep "$TINY" -o s -q
expect_failure
expect_error_line 'jointflow: rank 1: another recipe than rank 0: .*'
expect_no_file s

# Runs that take a while, in the background, until two of them have a checkpoint. start_sweep FOLDER
LONG="--set train.epochs=60 --set train.patience=0 --set train.checkpoint=0 --set train.ks_every=0 --set train.rate=1e-3,1e-4 --seeds 2 --threads 1"
start_sweep() {
    [ -z "$case_skip" ] || return
    timeout 120 mpirun -n 3 jointflow sweep "$TINY" $LONG -o "$1" -q > "$1.out" 2> "$1.err" &
    launcher=$!
    for _ in $(seq 600); do
        [ "$(ls "$1"/*/*/checkpoint.safetensors 2> /dev/null | wc -l)" -ge 2 ] && return
        sleep 0.05
    done
    case_fail "the sweep did not begin: $(cat "$1.err")"
}
goes_on() { [ -z "$case_skip$case_problem" ]; }
launcher_process() { pgrep -P "$launcher" mpirun; }

# The sweep in a folder ends as one that was never interrupted.
expect_same_end() {
    run timeout 120 mpirun -n 2 jointflow sweep "$TINY" $LONG -o "$1" -q
    expect_status 0
    run jointflow sweep "$TINY" $LONG -o whole -q
    expect_same_sweep whole "$1"
}

case_begin ranks_sweep__a_signal_to_the_launcher_saves_and_the_next_call_goes_on
needs_mpi
export OMPI_MCA_odls_base_sigkill_timeout=10 # seconds to save in, which mpirun waits for in any case
start_sweep s
unset OMPI_MCA_odls_base_sigkill_timeout
if goes_on; then
    kill -TERM "$(launcher_process)"
    wait "$launcher"
    status=$?
    expect_failure
    expect_same_end s
fi

case_begin ranks_sweep__a_rank_that_is_killed_ends_all_and_the_next_call_goes_on
needs_mpi
start_sweep s
if goes_on; then
    began=$(now_ms)
    kill -KILL "$(pgrep -P "$(launcher_process)" | sed -n 2p)"
    wait "$launcher"
    status=$?
    expect_failure
    expect test $(($(now_ms) - began)) -lt 30000
    expect_same_end s
fi
