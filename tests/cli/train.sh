# Training: runs, their folders, stopping and going on.
. "$(dirname "$0")/lib.sh"
TINY="$ROOT/tests/cli/tiny.ini"

case_begin train__fills_a_run_folder_and_tells_where_things_are
cp "$TINY" mine.ini
run jointflow train mine.ini
expect_status 0
expect_error_line_count 1
expect_error_line 'jointflow: warning: This joint model is not to be trusted: .*' # after so short a training
expect_line 'training mine.ini into out/mine'
expect_line '[0-9]+ coupling layers, [0-9]+ parameters on cpu .*'
expect_line 'precondition 1/1  .*'
expect_line 'anneal 1/1  .*'
expect_line "train 3/3  [0-9]:[0-9]{2}:[0-9]{2}, .* left  loss -?[0-9.]+ = z .* \\+ y .* \\+ logdet .*, y error .*"
expect_line '  gap  .*'
expect_line 'report:  out/mine/report.html'
expect_line 'samples: jointflow sample /.*/out/mine -y upper,lower -o samples.png'
for file in model.safetensors checkpoint.safetensors history.csv recipe.ini report.html; do expect_file out/mine/$file; done
run jointflow info out/mine
expect_status 0
expect_line 'parameters  [0-9]+'

case_begin train__takes_a_recipe_by_name
export JOINTFLOW_RECIPES="$work/case/recipes"
mkdir -p recipes/small && cp "$TINY" recipes/small/two.ini
run jointflow train small/two --no-report
expect_status 0
expect_file out/small/two/model.safetensors
unset JOINTFLOW_RECIPES

case_begin train__quiet_says_nothing
run jointflow train "$TINY" -o run --quiet --no-report
expect_status 0
expect_line_count 0
expect_error_line_count 0
expect_no_file run/report.html

case_begin train__a_model_worse_than_a_gaussian_is_told_even_when_quiet
run jointflow train "$TINY" -o run --quiet --no-report --set train.rate=1
expect_status 0
expect_error_line_count 1
expect_error_line 'jointflow: warning: the loss of the model is .*, worse than the 2.839 of a Gaussian .*'
run jointflow info run
expect_line 'training    finished .*; loss .*, worse than a Gaussian.s 2.839, seed 0'
run jointflow judge run --points 500
expect_status 0
expect_line '  The loss is .*, worse than the 2.839 of a Gaussian .*'

case_begin train__a_start_that_diverges_is_one_line_with_its_gain
run jointflow train "$TINY" -o run --quiet --set model.depth=50 --set model.hidden_gain=10
expect_status 1
expect_error_line_count 1
expect_error_line 'jointflow: .*values are not finite after layer 0; .*lower model.hidden_gain, which is 10'

case_begin train__a_table_with_a_huge_held_out_value_is_refused_with_its_place
seq 1 100 | awk '{ print ($1 == 3 ? 1e40 : sin($1)) "," cos($1 * $1) }' > t.csv # row 3 is held out
printf '[data]\nset = table\nfile = t.csv\nx = 1\ny = 1\n[train]\nbatch = 20\n' > t.ini
run jointflow train t.ini --quiet
expect_status 1
expect_error_line_count 1
expect_error_line 'jointflow: t.csv: row 3, column 1 is 1e\+40, .*: correct it or leave the row out'
expect_no_file out

case_begin train__does_not_write_over_a_run_unless_told_to
run jointflow train "$TINY" -o run --no-report --quiet
cp -r run before
run jointflow train "$TINY" -o run --no-report --seed 8
expect_status 1
expect_error_line 'jointflow: run: holds a run already .* --resume, .* --force, .*'
expect_error_line_count 1
expect diff -r run before
run jointflow train "$TINY" -o run --no-report --seed 8 --force
expect_status 0
expect_file run/model.safetensors
expect test "$(cmp run/model.safetensors before/model.safetensors | wc -l)" -eq 1
run jointflow train "$TINY" -o run --resume --force
expect_status 2

case_begin train__second_training_into_a_folder_is_refused_and_told_by_whom
jointflow train "$TINY" -o run --set train.epochs=100000 --set train.patience=0 --no-report --quiet &
pid=$!
for ((i = 0; i < 1000; i++)); do
    [ ! -e run/history.csv ] || break
    sleep 0.01
done
for option in --force --resume; do
    run jointflow train "$TINY" -o run --no-report $option
    expect_status 1
    expect_error_line "jointflow: run: process $pid on host .* is writing a run into this folder; .*"
    expect_error_line_count 1
done
kill -KILL $pid
wait $pid 2> /dev/null
run jointflow train "$TINY" -o run --no-report --quiet --force
expect_status 0
expect_no_file run/run.lock
expect_no_file run/old-run

case_begin train__force_leaves_nothing_of_the_old_report
jointflow train "$TINY" -o run --quiet
stop_early() { # trains anew and stops in the first epochs
    env --default-signal=INT jointflow train "$TINY" -o run --force --set train.epochs=100000 --set train.patience=0 \
        > "$work/stdout" 2> "$work/stderr" < /dev/null &
    pid=$!
    for ((i = 0; i < 1000; i++)); do
        [ ! -e run/old-run ] || [ ! -e run/history.csv ] || break
        sleep 0.01
    done
    kill -INT $pid
    wait $pid
    status=$?
}
ls run > before
stop_early
expect_status 130
ls run/old-run > aside
expect_same before aside
expect_line 'the run that was here is kept in run/old-run until this one has finished'
expect test "$(ls run | paste -sd' ')" = "checkpoint.safetensors history.csv model.safetensors old-run recipe.ini"
run jointflow info run/old-run
expect_status 0

# is_run_of FOLDER LIKE: whether the folder holds the whole run that is in the other one.
is_run_of() {
    local file
    for file in model.safetensors checkpoint.safetensors recipe.ini history.csv; do
        cmp -s "$1/$file" "$2/$file" || return 1
    done
}

case_begin train__force_interrupted_at_any_moment_leaves_one_run_whole
SHORT="--set train.epochs=30 --set train.patience=0 --set train.checkpoint=0.05 --no-report --quiet"
jointflow train "$TINY" -o old --seed 1 $SHORT
jointflow train "$TINY" -o new --seed 2 $SHORT
signals=(KILL TERM INT HUP)
tries=10
[ -z "$SANITIZE" ] || tries=4 # everything takes several times as long
for ((n = 0; n < tries; n++)); do
    rm -rf run && cp -r old run
    env --default-signal=INT jointflow train "$TINY" -o run --seed 2 --force $SHORT > /dev/null 2>&1 < /dev/null &
    pid=$!
    sleep 0.$(printf %02d $((4 * n)))
    kill -s ${signals[n % 4]} $pid 2> /dev/null
    wait $pid 2> /dev/null
    is_run_of run old || is_run_of run/old-run old || expect cmp run/model.safetensors new/model.safetensors
    if [ -e run/checkpoint.safetensors ] && ! is_run_of run old; then
        run jointflow train "$TINY" -o run --seed 2 --resume $SHORT
    else
        run jointflow train "$TINY" -o run --seed 2 --force $SHORT
    fi
    expect_status 0
    expect_same run/model.safetensors new/model.safetensors
    expect test "$(ls -A run | paste -sd' ')" = "$(ls -A new | paste -sd' ')"
done

case_begin train__same_seed_gives_the_same_bytes_for_any_number_of_threads
for threads in 1 2 16; do jointflow train "$TINY" -o run$threads --threads $threads --seed 3 --no-report --quiet; done
jointflow train "$TINY" -o other --seed 4 --no-report --quiet
expect_same run1/model.safetensors run2/model.safetensors
expect_same run1/model.safetensors run16/model.safetensors
for threads in 1 2 16; do
    jointflow train "$TINY" -o chain$threads --threads $threads --seed 3 --no-report --quiet \
        --set "model.transforms=actnorm mixing coupling"
done
expect_same chain1/model.safetensors chain2/model.safetensors
expect_same chain1/model.safetensors chain16/model.safetensors
expect_file other/model.safetensors
expect test "$(cmp run1/model.safetensors other/model.safetensors | wc -l)" -eq 1

case_begin train__image_models_have_the_same_bytes_for_any_number_of_threads
for threads in 1 2 16; do
    jointflow train "$ROOT/tests/cli/glyphs.ini" -o run$threads --threads $threads --set train.epochs=1 --no-report --quiet
done
expect_same run1/model.safetensors run2/model.safetensors
expect_same run1/model.safetensors run16/model.safetensors

# stop_midway SIGNAL FOLDER OPTION...: trains until some epochs have ended, then sends the signal.
stop_midway() {
    local signal=$1 folder=$2 pid before
    before=$(cat "$2/history.csv" 2> /dev/null | wc -l)
    shift 2
    env --default-signal="$signal" jointflow train "$TINY" -o "$folder" --no-report "$@" \
        > "$work/stdout" 2> "$work/stderr" < /dev/null &
    pid=$!
    for ((i = 0; i < 1000; i++)); do
        [ "$(cat "$folder/history.csv" 2> /dev/null | wc -l)" -lt $((before + 30)) ] || break
        sleep 0.01
    done
    kill -s "$signal" $pid
    wait $pid
    status=$?
}
LONG="--set train.epochs=2000 --set train.patience=0 --set train.ks_every=100"

case_begin train__interrupted_and_resumed_gives_the_bytes_of_an_uninterrupted_run
jointflow train "$TINY" -o whole $LONG --no-report --quiet
stop_midway INT stopped $LONG
expect_status 130
expect_error_line_count 1
expect_error_line 'jointflow: stopped, saved in stopped; continue with: jointflow train --resume .*tiny.ini -o stopped .*'
expect_file stopped/checkpoint.safetensors
expect_file stopped/model.safetensors
expect test "$(wc -l < stopped/history.csv)" -lt 2000
eval "$(sed 's/.*continue with: //' "$work/stderr")" > "$work/stdout" 2> "$work/stderr"
status=$?
expect_status 0
expect_same whole/model.safetensors stopped/model.safetensors
for run in whole stopped; do cut -d, -f1-12 $run/history.csv > $run.history; done
expect_same whole.history stopped.history
expect test "$(wc -l < whole.history)" -eq 2003

damage() { # FILE: overwrites some bytes near its end
    printf 'damage' | dd of="$1" bs=1 seek=$(($(wc -c < "$1") - 100)) conv=notrunc status=none
}

case_begin train__damaged_checkpoint_falls_back_to_the_one_before_it
jointflow train "$TINY" -o whole --set train.checkpoint=0 --no-report --quiet
cp -r whole run
rm run/model.safetensors run/history.csv
damage run/checkpoint.safetensors
run jointflow train "$TINY" -o run --set train.checkpoint=0 --no-report --resume --quiet
expect_status 0
expect_error_line 'jointflow: warning: run/checkpoint.safetensors: damaged: .*; going on from the one before it, run/checkpoint-previous.safetensors, .*'
expect_error_line 'jointflow: warning: run/history.csv: is missing and begun again, .*'
expect_same run/model.safetensors whole/model.safetensors
for file in checkpoint checkpoint-previous; do damage run/$file.safetensors; done
cp run/model.safetensors before
run jointflow train "$TINY" -o run --set train.checkpoint=0 --no-report --resume
expect_status 1
expect_error_line 'jointflow: run/checkpoint.safetensors: damaged: .*; the one before it cannot be used either: .*'
expect_error_line_count 1
expect_same run/model.safetensors before
rm run/checkpoint*.safetensors
run jointflow train "$TINY" -o run --set train.checkpoint=0 --no-report --resume
expect_status 1
expect_error_line 'jointflow: run: holds no checkpoint .checkpoint.safetensors., so nothing to resume'

case_begin train__terminated_in_the_background_is_saved_too
stop_midway TERM run $LONG
expect_status 130
run jointflow info run
expect_status 0
expect_line 'training    stopped after .*'

# signal_twice SECONDS WORDS...: a step takes seconds; SIGTERM after its begin, and once more after so many seconds.
signal_twice() {
    local pause=$1 pid
    shift
    jointflow train "$TINY" -o run --threads 1 --no-report --quiet "$@" 2> "$work/stderr" &
    pid=$!
    for ((i = 0; i < 1000; i++)); do
        [ ! -e run/history.csv ] || break
        sleep 0.01
    done
    sleep 0.2
    kill -TERM $pid
    sleep "$pause"
    kill -TERM $pid
    wait $pid
    status=$?
}

case_begin train__second_signal_ends_at_once
signal_twice 1.2 --set model.width=128 --set model.depth=6 --set train.batch=200000
expect_status 143
expect_no_file run/model.safetensors

# as timeout(1) does: once to the program, once to its group
case_begin train__a_signal_that_a_launcher_sends_twice_is_one
signal_twice 0.2 --set model.width=64 --set train.batch=500000
expect_status 130
expect_error_line 'jointflow: stopped, saved in run; continue with: .*'
expect_file run/model.safetensors
expect_file run/checkpoint.safetensors

case_begin train__resumes_on_another_device_and_says_so
jointflow train "$TINY" -o run --no-report --quiet --device cpu
run jointflow train "$TINY" -o run --no-report --quiet --device ref --resume
expect_status 0
expect_error_line 'jointflow: warning: run/checkpoint.safetensors: goes on on ref what was trained on cpu until here: .*'
expect_error_line_count 1

case_begin train__resume_needs_the_same_recipe_and_seed
jointflow train "$TINY" -o run --no-report --quiet
cp run/model.safetensors before
run jointflow train "$TINY" -o run --resume --seed 9
expect_status 1
expect_error_line 'jointflow: .*seed 0, now it is 9'
run jointflow train "$TINY" -o run --resume --set train.rate=0.5
expect_status 1
expect_error_line 'jointflow: .*another recipe: "rate = .*" there, "rate = .*" now'
expect_error_line_count 1
expect_same run/model.safetensors before
run jointflow train "$TINY" -o nothing --resume
expect_status 1
expect_error_line 'jointflow: nothing: there is no such folder, expected one with a run to resume; .*'
expect_error_line_count 1
expect_no_file nothing

case_begin train__resume_refuses_changed_data_unless_told_to
jointflow train "$TINY" -o source --no-report --quiet
jointflow sample source -y 0,1 -n 200 -o data.csv > /dev/null
cat > table.ini << 'END'
[data]
set = table
file = data.csv
x = 2
y = 1
[model]
blocks = 1
depth = 1
width = 4
[train]
batch = 50
epochs = 100000
patience = 0
ks_every = 0
END
TINY=table.ini stop_midway INT run
expect_status 130
awk 'NR % 2' data.csv > half.csv && mv half.csv data.csv
cp run/checkpoint.safetensors before
run jointflow train table.ini -o run --resume --no-report
expect_status 1
expect_error_line 'jointflow: run/checkpoint.safetensors: the run to resume has other data: 360 rows and 40 held out, checksum [0-9a-f]{16} there, 180 rows and 20 held out, checksum [0-9a-f]{16} now; .*--changed-data.*'
expect_error_line_count 1
expect_same run/checkpoint.safetensors before
run jointflow train table.ini -o run --changed-data
expect_status 2
TINY=table.ini stop_midway INT run --resume --changed-data
expect_status 130
expect_line 'run/checkpoint.safetensors: of other data: .*; going on with these'
expect test "$(grep -c 'changed-data' "$work/stderr")" -eq 0

case_begin train__on_a_terminal_rewrites_one_line
command -v script > /dev/null || skip "script is not installed"
run script -qec "jointflow train $TINY -o run --set train.epochs=50 --set train.patience=0 --no-report" /dev/null
expect_status 0
# A fast machine may come to "train" only with the last line, which clears what stood there.
expect grep -qE "$(printf '\r(\033\[K)?train [0-9]*/50 ')" "$work/stdout"
expect test "$(wc -l < "$work/stdout")" -lt 10

case_begin bench__json_has_its_keys
run jointflow bench --recipe "$TINY" --seconds 0.05 --threads 1 --batch 50 --json
expect_status 0
expect_line_count 1
for key in train_samples_per_s sample_samples_per_s peak_memory_mib; do
    expect_line ".*\"$key\": [1-9][0-9.e+]*,.*"
done
expect_line '.*"batch": 50,.*"device": "cpu .*"\}'

case_begin bench__table_names_the_same
run jointflow bench --recipe "$TINY" --seconds 0.05
expect_status 0
expect_line 'training +[0-9]+ samples/s'
expect_line 'sampling +[0-9]+ samples/s'
