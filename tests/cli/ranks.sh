# Several processes that train together, over Open MPI on the loopback interface.
. "$(dirname "$0")/lib.sh"
TINY="$ROOT/tests/cli/tiny.ini" GLYPHS="$ROOT/tests/cli/glyphs.ini"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # tests may be root's
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo
# Open MPI leaves memory behind, of plug-ins that are gone by then: no suppression could name them.
[ -z "$SANITIZE" ] || export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none

needs_mpi() {
    command -v mpirun > /dev/null || skip "there is no mpirun: install the packages of [mpi] in packages.txt"
    [ -e "$BUILD/libjointflow-mpi.so" ] || skip "the module for MPI was not built: install the packages of [mpi] in packages.txt"
}

# mpi N COMMAND...
mpi() {
    local n=$1
    shift
    run timeout 300 mpirun -n "$n" "$@"
}

# Without its last column, the seconds.
expect_same_history() {
    [ -n "$case_skip" ] && return
    sed 's/,[^,]*$//' "$1/history.csv" > a.csv
    sed 's/,[^,]*$//' "$2/history.csv" > b.csv
    expect_same a.csv b.csv
}

case_begin ranks__a_toy_on_1_2_and_4_has_the_same_bits
needs_mpi
run jointflow train "$TINY" -o one --quiet --no-report --deterministic
for n in 2 4; do
    mpi $n jointflow train "$TINY" -o run$n --quiet --no-report --deterministic
    expect_status 0
    expect_same one/model.safetensors run$n/model.safetensors
    expect_same_history one run$n
done

case_begin ranks__an_image_model_on_1_2_and_4_has_the_same_bits_and_judgement
needs_mpi
sed 's/^batch = .*/batch = 8/; s/^limit = .*/limit = 24/' "$GLYPHS" > mine.ini # 14 x 14 pixels below
printf '[data]\ntask = superres\ndown = 1\n' >> mine.ini
run jointflow train mine.ini -o one --quiet --no-report --deterministic
run jointflow judge one --points 8 --json
[ -n "$case_skip" ] || cp "$work/stdout" one.json
for n in 2 4; do
    mpi $n jointflow train mine.ini -o run$n --quiet --no-report --deterministic
    expect_status 0
    expect_same one/model.safetensors run$n/model.safetensors
    expect_same_history one run$n
done
run jointflow judge run4 --points 8 --json
expect_status 0
[ -n "$case_skip" ] || expect_same one.json "$work/stdout"

case_begin ranks__without_deterministic_3_of_them_differ_by_rounding_alone
needs_mpi
run jointflow train "$TINY" -o one --quiet --no-report
mpi 3 jointflow train "$TINY" -o run --quiet --no-report
expect_status 0
[ -n "$case_skip" ] || expect awk -F, 'FNR == NR { loss[FNR] = $4; next }
    FNR > 1 && ($4 - loss[FNR]) ^ 2 > 1e-8 { exit 1 }' one/history.csv run/history.csv

case_begin ranks__the_first_alone_says_something
needs_mpi
mpi 3 jointflow train "$TINY" -o run --no-report
expect_status 0
[ -n "$case_skip" ] || expect test "$(grep -c 'training .* into run' "$work/stdout")" = 1
[ -n "$case_skip" ] || expect grep -q '3 ranks share every batch' "$work/stdout"
expect_file run/model.safetensors

case_begin ranks__other_recipes_data_and_seeds_are_refused_with_their_rank
needs_mpi
run mpirun -n 2 jointflow train "$TINY" -o run -q : -n 1 jointflow train "$TINY" -o run -q --set train.rate=1e-3
expect_failure
expect_error_line 'jointflow: rank 2: another recipe than rank 0: "rate = 1e-3", there "rate = 1e-2"'
run mpirun -n 1 jointflow train "$TINY" -o run -q : -n 1 jointflow train "$TINY" -o run -q --seed 1
expect_failure
expect_error_line 'jointflow: rank 1: another seed or way of training than rank 0: "seed 1", there "seed 0"'
mkdir -p here there
seq 1 100 | awk '{ print sin($1) "," cos($1 * $1) }' > here/t.csv
seq 2 101 | awk '{ print sin($1) "," cos($1 * $1) }' > there/t.csv
printf '[data]\nset = table\nfile = t.csv\nx = 1\ny = 1\n[train]\nbatch = 20\n' | tee here/t.ini > there/t.ini
run mpirun -n 1 -wdir "$PWD/here" jointflow train t.ini -o run -q : -n 1 -wdir "$PWD/there" jointflow train t.ini -o run -q
expect_failure
expect_error_line 'jointflow: rank 1: another data \(checksum\) than rank 0: .*'
expect_no_file here/run
expect_no_file there/run

case_begin ranks__a_failure_of_one_is_told_once_with_its_rank
needs_mpi
mkdir -p here there
seq 1 100 | awk '{ print sin($1) "," cos($1 * $1) }' > here/t.csv
printf '[data]\nset = table\nfile = t.csv\nx = 1\ny = 1\n[train]\nbatch = 20\n' | tee here/t.ini > there/t.ini
run mpirun -n 1 -wdir "$PWD/here" jointflow train t.ini -o run -q : -n 1 -wdir "$PWD/there" jointflow train t.ini -o run -q
expect_failure
expect_error_line 'jointflow: rank 1: .*t.csv.*'
[ -n "$case_skip" ] || expect test "$(grep -c '^jointflow: ' "$work/stderr")" = 1

case_begin ranks__too_few_too_many_and_uneven_ones_are_refused
needs_mpi
mpi 2 jointflow train "$TINY" -o run -q --ranks 3
expect_failure
expect_error_line 'jointflow: 3 ranks were asked for, 2 were started: mpirun -n 3 jointflow ...'
mpi 3 jointflow train "$TINY" -o run -q --deterministic
expect_failure
expect_error_line 'jointflow: .*tiny.ini:[0-9]+: train.batch: a deterministic run cuts 100 samples into 4 slices .* 3 ranks .*'
mpi 3 jointflow train "$TINY" -o run -q --set train.batch=2
expect_failure
expect_error_line 'jointflow: .*train.batch: 2 samples cannot be shared by 3 ranks: start fewer'

case_begin ranks__without_the_module_a_line_says_how_to_get_it
cp "$BUILD/jointflow" .
OMPI_COMM_WORLD_SIZE=2 run ./jointflow train "$TINY" -o run -q
expect_status 1
expect_error_line_count 1
expect_error_line 'jointflow: several processes were started, and the module by which they work together, libjointflow-mpi.so, is not installed: .*'
run ./jointflow train "$TINY" -o run -q --no-report
expect_status 0

# A run that takes a while, in the background, until it has two checkpoints. start_run N FOLDER [OPTION ...]
start_run() {
    local n=$1 folder=$2
    shift 2
    [ -z "$case_skip" ] || return
    sed 's/^epochs = .*/epochs = 250/' "$TINY" > long.ini
    printf 'patience = 0\ncheckpoint = 0\nks_every = 0\n' >> long.ini
    timeout 120 mpirun -n "$n" jointflow train long.ini -o "$folder" -q --no-report "$@" > "$folder.out" 2> "$folder.err" &
    launcher=$!
    for _ in $(seq 600); do
        [ -e "$folder/checkpoint-previous.safetensors" ] && return
        sleep 0.05
    done
    case_fail "the run did not begin: $(cat "$folder.err")"
}
goes_on() { [ -z "$case_skip$case_problem" ]; }
launcher_process() { pgrep -P "$launcher" mpirun; }
rank_process() { pgrep -P "$(launcher_process)" | sed -n "$1p"; }
wait_for_run() { wait "$launcher"; status=$?; cp "$1.err" "$work/stderr"; cp "$1.out" "$work/stdout"; }

# The run in a folder, resumed, ends as one that was never interrupted. expect_same_end FOLDER RANKS
expect_same_end() {
    mpi "$2" jointflow train long.ini -o "$1" -q --no-report --deterministic --resume
    expect_status 0
    run jointflow train long.ini -o whole -q --no-report --deterministic
    expect_same whole/model.safetensors "$1/model.safetensors"
    expect_same_history whole "$1"
}

# What ranks say when mpirun is about to end is passed on by chance: the model tells, which is written where all stopped together.
case_begin ranks__a_signal_to_the_launcher_stops_all_and_saves
needs_mpi
export OMPI_MCA_odls_base_sigkill_timeout=10 # seconds to save in, which mpirun waits for in any case
start_run 4 run --set train.epochs=1000000
unset OMPI_MCA_odls_base_sigkill_timeout
if goes_on; then
    kill -TERM "$(launcher_process)"
    wait_for_run run
    expect_failure
    expect_file run/model.safetensors
    run jointflow info run
    expect_line 'training    stopped after [0-9]+ epochs, .*'
fi

case_begin ranks__one_that_is_killed_ends_all_and_the_rest_goes_on
needs_mpi
start_run 4 run --deterministic
if goes_on; then
    began=$(now_ms)
    kill -KILL "$(rank_process 3)"
    wait_for_run run
    expect_failure
    expect test $(($(now_ms) - began)) -lt 30000
    expect_same_end run 2
fi

case_begin ranks__one_that_is_stopped_ends_all_in_time_and_is_named
needs_mpi
start_run 3 run --rank-limit 4
if goes_on; then
    began=$(now_ms)
    kill -STOP "$(rank_process 2)"
    wait_for_run run
    expect_failure
    expect test $(($(now_ms) - began)) -lt 20000
    expect_error_line 'jointflow: rank [0-2]: no sign of life from rank [0-2] for 4 seconds: .*'
    expect_file run/checkpoint.safetensors
fi
