# Every failure is one clear line and an exit status, and leaves what was there as it was.
. "$(dirname "$0")/lib.sh"
TINY="$ROOT/tests/cli/tiny.ini"
jointflow train "$TINY" -o "$work/tiny" --no-report --quiet || exit 1
MODEL="$work/tiny"

# fails MESSAGE COMMAND...: exit status 1 with exactly this one line.
fails() {
    local message=$1
    shift
    run "$@"
    expect_status 1
    expect_error_line "jointflow: $message"
    expect_error_line_count 1
}

case_begin recipe__unknown_key_is_refused_with_line_and_suggestion
printf '[data]\nset = crescents\n\n[train]\nepoch = 3\n' > bad.ini
fails 'bad.ini:5: unknown key "train.epoch"; did you mean "train.epochs"\?' jointflow train bad.ini
expect_no_file out

case_begin recipe__wrong_value_is_refused_with_line_found_and_expected
printf '[data]\nset = crescents\n[train]\nrate = fast\n' > bad.ini
fails 'bad.ini:4: train.rate: found "fast", expected a number from .* to .*' jointflow train bad.ini
printf '[data]\nset = cresents\n' > bad.ini
fails 'bad.ini:2: data.set: found "cresents", expected one of .*' jointflow train bad.ini
printf '[data]\nset = crescents\n[model\n' > bad.ini
fails 'bad.ini:3: .*' jointflow train bad.ini

case_begin recipe__wrong_value_of_set_is_refused
fails '--set train.rate: found "fast", expected .*' jointflow train "$TINY" --set train.rate=fast
fails '--set train.rat: unknown key; did you mean "train.rate"\?' jointflow train "$TINY" --set train.rat=1
expect_no_file out

case_begin files__missing_ones_are_named
fails '.*nowhere.ini.*' jointflow train nowhere.ini
fails '.*nowhere.*' jointflow sample nowhere -y 0
fails '.*nowhere.csv.*' jointflow encode "$MODEL" nowhere.csv
printf '[data]\nset = table\nfile = nowhere.csv\nx = 1\ny = 1\n' > table.ini
fails '.*nowhere.csv.*' jointflow train table.ini
mkdir empty
fails 'empty: .*' jointflow info empty

case_begin files__that_are_no_models_are_refused
head -c 300 "$MODEL/model.safetensors" > short.safetensors
fails 'short.safetensors: .*' jointflow info short.safetensors
echo 'hello there, this is no model' > text.safetensors
fails 'text.safetensors: .*' jointflow info text.safetensors
: > none.safetensors
fails 'none.safetensors: .*' jointflow info none.safetensors

case_begin data__with_a_wrong_number_of_columns_is_refused
printf 'a,b\n1,2\n3,4\n' > two.csv
for command in encode density; do
    fails 'two.csv: found 2 columns, expected 3 \(2 of x, then 1 of y\)' jointflow $command "$MODEL" two.csv
done
fails 'two.csv: found 2 columns, expected 3 \(2 of z, then 1 of y\)' jointflow decode "$MODEL" two.csv
printf '1,2,3\n4,5\n' > ragged.csv
fails 'ragged.csv:2: .*' jointflow encode "$MODEL" ragged.csv
printf '[data]\nset = table\nfile = two.csv\nx = 2\ny = 1\n' > table.ini
fails '.*two.csv: found 2 columns, expected at least 3 .*' jointflow train table.ini

case_begin data__that_is_not_finite_is_refused_with_its_place
printf '1,2,0\n3,nan,1\n' > bad.csv
for command in encode decode density; do
    fails 'bad.csv: row 2, column 2 is missing \(nan\), expected a finite number' jointflow $command "$MODEL" bad.csv -o out.csv
    expect_no_file out.csv
done
printf '[data]\nset = table\nfile = bad.csv\nx = 2\ny = 1\nmissing = refuse\n' > table.ini
fails '.*bad.csv: row 2, column 2 is missing, expected a finite number; .*' jointflow train table.ini

case_begin data__beyond_the_numbers_of_the_device_is_refused_by_row
printf '1,2,0\n1e40,0,0\n' > far.csv
for command in encode density; do
    fails 'row 2: x0 is 1e\+40, which is [0-9.]+e\+[0-9]+ deviations away from the mean of the data, .*' \
        jointflow $command "$MODEL" far.csv -o out.csv
    expect_no_file out.csv
done
fails 'row 2: z0 is 1e\+40, expected a number between .*' jointflow decode "$MODEL" far.csv -o out.csv
fails 'row 1: y0 is 1e\+40, which is .*' jointflow sample "$MODEL" -y 1e40 -o out.csv
fails '.*y0 is .*, which is .*' jointflow interpolate "$MODEL" --along y --from 0 --to 1e40 -o out.csv
expect_no_file out.csv

case_begin device__unknown_one_is_refused_with_those_there_are
fails 'unknown device "gpu"; this build has: .*cpu.*' jointflow train "$TINY" --device gpu
fails 'unknown device "gpu"; this build has: .*cpu.*' jointflow sample "$MODEL" -y 0 --device gpu
fails 'unknown device "gpu"; this build has: .*cpu.*' jointflow bench --recipe "$TINY" --device gpu

case_begin output__below_a_file_cannot_be_written
echo precious > file
cp file before
fails '.*file.*' jointflow train "$TINY" -o file/run
fails '.*file/a.csv.*' jointflow sample "$MODEL" -y 0 -n 5 -o file/a.csv
fails '.*file/a.png.*' jointflow sample "$MODEL" -y 0 -n 5 -o file/a.png
fails 'file: is a file; expected a folder' jointflow report "$MODEL" --points 500 -o file/report
expect_same file before
expect test "$(ls)" = 'before
file'

case_begin report__a_folder_that_cannot_be_made_is_told_before_judging
echo precious > file
run jointflow report "$MODEL" --points 10000000 -o file/a/b # would take minutes
expect_status 1
expect_error_line 'jointflow: file: is a file; expected a folder'
expect_error_line_count 1

case_begin output__that_does_not_fit_leaves_the_old_file_and_no_rest
for name in old.csv old.npy; do
    echo precious > $name
    cp $name before
    fails ".*$name.*" bash -c "ulimit -f 8; exec jointflow sample '$MODEL' -y 0 -n 10000 -o $name"
    expect_same $name before
    rm before
done
expect test "$(ls -A | wc -l)" -eq 2

case_begin training__that_cannot_save_leaves_the_old_model
cp -r "$MODEL" run
fails '.*run/.*' bash -c "ulimit -f 4; exec jointflow train '$TINY' -o run --force --quiet --no-report"
expect_same run/model.safetensors "$MODEL/model.safetensors"
expect_same run/checkpoint.safetensors "$MODEL/checkpoint.safetensors"
expect test "$(ls -A run | sort | paste -sd' ')" = "$(ls -A "$MODEL" | sort | paste -sd' ')"

case_begin stdout__full_disk_is_noticed
[ -w /dev/full ] || skip "there is no /dev/full"
fails 'standard output: No space left on device' bash -c "jointflow sample '$MODEL' -y 0 > /dev/full"
fails 'standard output: No space left on device' bash -c "jointflow sample '$MODEL' -y 0 -n 1 > /dev/full"
fails 'standard output: No space left on device' bash -c "jointflow version > /dev/full"

case_begin stdout__closed_pipe_is_noticed
fails 'standard output: Broken pipe' \
    bash -c "jointflow sample '$MODEL' -y 0 -n 100000 | head -n 1; exit \${PIPESTATUS[0]}"
expect_line 'x0,x1,y0'

case_begin stdout__closed_stream_does_not_end_in_another_file
fails 'standard output: .*' bash -c "jointflow sample '$MODEL' -y 0 -n 5 >&-"
run bash -c "jointflow train '$TINY' -o run --no-report >&-"
expect_status 1
run jointflow info run
expect_status 0
