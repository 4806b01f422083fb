# Profiles: what jointflow bench tells about the parts of a step.
. "$(dirname "$0")/lib.sh"
TINY="$ROOT/tests/cli/tiny.ini"
GLYPHS="$ROOT/tests/cli/glyphs.ini"

case_begin bench__profile_shows_parts_of_training_and_sampling
run jointflow bench --recipe "$TINY" --seconds 0.05 --threads 1 --profile
expect_status 0
expect_error_line_count 0
expect_line 'training +[0-9]+ samples/s'
expect_line 'a training step +calls +ms of thread +share +GFLOP/s'
expect_line '  dense layers, dw +[1-9][0-9]* +[0-9.]+ +[0-9.]+% +[0-9.]+'
expect_line '  optimiser +[1-9][0-9]* +[0-9.]+ +[0-9.]+%'
expect_line '  rest: waiting, host +[0-9.]+ +[0-9.]+%'
expect_line 'a sampling step +calls +ms of thread +share +GFLOP/s'
expect test "$(grep -cxE '  whole step +[0-9.]+ +100.0%' "$work/stdout")" -eq 2
expect test "$(grep -c '^  dense layers, dw ' "$work/stdout")" -eq 1

case_begin bench__profile_of_images_names_their_parts
run jointflow bench --recipe "$GLYPHS" --seconds 0.05 --threads 1 --profile
expect_status 0
for part in '1x1 products, dx' '3x3 convolutions, forward' 'first and last convolutions, dw'; do
    expect_line "  $part +[1-9][0-9]* +[0-9.]+ +[0-9.]+% +[0-9.]+"
done
expect_line '  layer norms, backward +[1-9][0-9]* +[0-9.]+ +[0-9.]+%'

case_begin bench__without_profile_says_nothing_of_parts
run jointflow bench --recipe "$TINY" --seconds 0.05
expect_status 0
expect_line_count 7
run jointflow bench --recipe "$TINY" --seconds 0.05 --json
expect_status 0
expect_no_line '.*"profile".*'

case_begin bench__tells_the_precision_of_both_measurements
run jointflow bench --recipe "$TINY" --seconds 0.05 --precision fp32
expect_status 0
expect_line 'precision +fp32 in training, fp32 in sampling'
run jointflow bench --recipe "$TINY" --seconds 0.05 --json
expect_line '.*"train_precision": "fp32", "sample_precision": "fp32", .*'

case_begin precision__that_the_device_lacks_is_refused_and_leaves_no_run
for command in "bench --recipe $TINY" "train $TINY -o run"; do
    run jointflow $command --device cpu --precision bf16
    expect_status 1
    expect_error_line '.*train.precision: found bf16, expected what device cpu has: auto, fp32'
    expect_error_line_count 1
done
run jointflow train "$TINY" -o run --precision half
expect_status 1
expect_error_line '.*train.precision: found "half", expected one of auto, fp32, tf32, bf16'
expect test ! -e run

case_begin bench__profile_as_json_is_valid_and_adds_up
run jointflow bench --recipe "$TINY" --seconds 0.05 --threads 1 --profile --json
expect_status 0
expect_line_count 1
expect_line '.*"device": "cpu .*", "profile": \[\{"of": "training", "part": ".*\}\]\}'
command -v python3 > /dev/null || skip "python3 is not installed: the JSON was not checked"
cp "$work/stdout" profile.json
run python3 -c '
import json, sys
profile = json.load(open(sys.argv[1]))["profile"]
for of in "training", "sampling":
    print(of, round(sum(part["share"] for part in profile if part["of"] == of), 3))
' profile.json
expect_status 0
expect_line 'training 1.0'
expect_line 'sampling 1.0'

case_begin bench__profile_of_the_reference_is_refused
run jointflow bench --recipe "$TINY" --seconds 0.05 --device ref --profile
expect_status 1
expect_line_count 0
expect_error_line 'jointflow: device ref: has no profile'

# Whether a process has a handler for SIGTERM.
is_watching() { ((0x$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status") >> 14 & 1)); }

# stop_bench SIGNAL OPTION...: sends the signal to a measurement that would take minutes.
stop_bench() {
    local signal=$1 pid
    shift
    env --default-signal="$signal" jointflow bench --recipe "$TINY" --seconds 60 --threads 1 "$@" \
        > "$work/stdout" 2> "$work/stderr" < /dev/null &
    pid=$!
    for ((i = 0; i < 1000; i++)); do
        ! is_watching $pid || break
        sleep 0.01
    done
    sleep 0.3
    kill -s "$signal" $pid
    wait $pid
    status=$?
}

case_begin bench__a_signal_stops_it_soon_with_one_sentence
for words in "INT" "TERM --json" "INT --profile"; do
    stop_bench $words
    expect_status 130
    expect_line_count 0
    expect_error_line_count 1
    expect_error_line 'jointflow: stopped before both measurements had ended'
done
