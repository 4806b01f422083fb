# Files and their names: what is written can be read again, what is not ours is refused, nothing is replaced by mistake.
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

# A finished model would hold another name than the one that was hashed, and never be read again.
case_begin names__that_are_not_utf8_are_refused_before_training
latin=$'caf\xe9'
cp "$TINY" "$latin.ini"
fails '.*: byte 4 of the recipe.s name has code 233, expected a name in UTF-8 .*: rename it' jointflow train "$latin.ini"
printf '1,2,0\n3,4,1\n5,6,0\n' > "$latin.csv"
printf '[data]\nset = table\nfile = %s.csv\nx = 2\ny = 1\n' "$latin" > table.ini
fails 'table.ini:3: data.file: byte 4 of the value has code 233, expected text in UTF-8 .*' jointflow train table.ini
printf '[data]\nset = table\nfile = table.csv\nx = 2\ny = 1\n' > table.ini
fails '--set data.file: byte 4 of the value has code 233, .*' jointflow train table.ini --set data.file="$latin.csv"
mkdir -p "pictures/$latin" && : > "pictures/$latin/a.png"
printf '[data]\nset = images\nimages = pictures\n[model]\nnet = resnext\n' > images.ini
fails '.*: byte 4 of the name of a class has code 233, expected text in UTF-8 .*: rename the folder' jointflow train images.ini
expect_no_file out

case_begin names__with_control_characters_are_refused_before_training
for name in $'a\e[2J' $'a\n' $'a\xc2\x9b31m' $'a\xe2\x80\xae' $'a\xe2\x81\xa6'; do
    cp "$TINY" "$name.ini" && printf '1,2,0\n3,4,1\n5,6,0\n' > "$name.csv"
    fails '.*: byte 2 of the recipe.s name has code [0-9]*, expected a name in UTF-8 without control characters .*' \
        jointflow train "$name.ini"
    fails '.*: byte 2 of the recipe.s name has code [0-9]*, .*' jointflow train "$name.csv" --x-columns 1 --y-columns 2
    fails '--set data.file: .*(has code|control character).*' jointflow train "$TINY" --set data.file="$name.csv"
    printf '[data]\nset = table\nfile = %s.csv\nx = 2\ny = 1\n' "$name" > table.ini
    fails 'table.ini:[34]: .*' jointflow train table.ini
done
expect_no_file out

case_begin files__a_pipe_that_nobody_writes_to_is_refused_and_not_waited_for
mkfifo p.csv p.npy p.png p.ini p.idx
within() { timeout -s KILL 10 "$@"; }
fails 'p.csv: is a pipe; expected a file' within jointflow sample "$MODEL" -y @p.csv
fails 'p.npy: is a pipe; expected a file' within jointflow density "$MODEL" p.npy
fails 'p.csv: is a pipe; expected a file' within jointflow train p.csv --x-columns 1 --y-columns 2
fails 'p.ini: is a pipe; expected a file' within jointflow train p.ini
printf '[data]\nset = images\nimages = pictures\n[model]\nnet = resnext\n' > images.ini
mkdir -p pictures/a && mkfifo pictures/a/1.png
fails '.*pictures/a/1.png: is a pipe; expected a file' within jointflow train images.ini
fails '/dev/zero: is a device; expected a file' within jointflow info /dev/zero
run within jointflow train <(cat "$TINY") -o run --no-report --quiet
expect_status 0

case_begin names__beyond_ascii_survive_training_and_resuming
cp "$TINY" 'Größe 日本.ini'
run jointflow train 'Größe 日本.ini' -o run --no-report --quiet
expect_status 0
run jointflow info run
expect_status 0
expect_line '.*Größe 日本.*'
run jointflow train 'Größe 日本.ini' -o run --no-report --quiet --resume
expect_status 0

case_begin csv__a_first_row_with_a_missing_number_is_a_row_not_a_header
printf '1,NA,0\n3,4,1\n5,6,0\n' > missing.csv
for command in encode density; do
    fails 'missing.csv: row 1, column 2 is missing \(nan\), expected a finite number' \
        jointflow $command "$MODEL" missing.csv
done
printf '[data]\nset = table\nfile = missing.csv\nx = 2\ny = 1\n' > table.ini
run jointflow train table.ini
expect_failure
expect_error_line '.*warning: 1 of 3 rows are left out since a value is missing, the first: missing.csv: row 1, column 2'
printf '1_000,2,0\n3,4,1\n5,6,0\n' > missing.csv
fails 'missing.csv:1: column 1: found "1_000", expected a number, .*' jointflow encode "$MODEL" missing.csv
printf '"1","NA",y0\n3,4,1\n5,6,0\n' > named.csv
run jointflow encode "$MODEL" named.csv -o out.csv
expect_status 0
expect test "$(wc -l < out.csv)" = 3

# refused_output MESSAGE FILE COMMAND...: the command fails with this one line, and the file stays as it was.
refused_output() {
    local message=$1 file=$2
    shift 2
    cp "$file" "$work/before"
    fails "$message" "$@"
    expect_same "$file" "$work/before"
}

case_begin output__never_replaces_an_input_by_whatever_name
printf '1,2,0\n3,4,1\n' > data.csv
ln -s data.csv soft.csv
ln data.csv hard.csv
mkdir folder
for name in data.csv ./data.csv folder/../data.csv "$PWD/data.csv" soft.csv hard.csv; do
    for command in encode decode density; do
        refused_output "-o $name: is data.csv, which this command reads; choose another name" data.csv \
            jointflow $command "$MODEL" data.csv -o "$name"
    done
done
printf '0\n1\n' > y.csv
refused_output '-o y.csv: is y.csv, which this command reads; .*' y.csv jointflow sample "$MODEL" -y @y.csv -o y.csv
echo picture > image.png
refused_output '-o image.png: is image.png, .*' image.png jointflow superres a b --input image.png -o image.png
refused_output '-o image.png: is image.png, .*' image.png \
    jointflow interpolate "$MODEL" --along y --from @image.png --to 1 -o image.png
run jointflow encode "$MODEL" data.csv -o other.csv
expect_status 0
run jointflow encode "$MODEL" data.csv -o other.csv # what is no input is replaced
expect_status 0

case_begin output__never_replaces_a_model_a_checkpoint_or_a_history
cp -r "$MODEL" run
cp -r "$MODEL" another
ln -s run/model.safetensors model.csv
ln another/checkpoint.safetensors checkpoint.npy
refused_output '-o model.csv: is run/model.safetensors, a file of the run; .*' run/model.safetensors \
    jointflow sample run -y 0 -o model.csv
refused_output '-o model.csv: is run/model.safetensors, which this command reads; .*' run/model.safetensors \
    jointflow sample run/model.safetensors -y 0 -o model.csv
refused_output '-o checkpoint.npy: is a model or a checkpoint, which is never replaced; .*' another/checkpoint.safetensors \
    jointflow sample run -y 0 -o checkpoint.npy
refused_output '-o run/history.csv: is run/history.csv, a file of the run; .*' run/history.csv \
    jointflow sample run -y 0 -o run/history.csv
run jointflow sample run -y 0 -n 5 -o run/samples.csv
expect_status 0

case_begin output__of_a_run_never_replaces_its_recipe_or_its_data
cp "$TINY" recipe.ini
refused_output './recipe.ini: is the recipe of this command, .*' recipe.ini jointflow train recipe.ini -o .
refused_output './recipe.ini: is the recipe of this command, .*' recipe.ini jointflow train recipe.ini -o . --force
printf '1,2,0\n3,4,1\n5,6,0\n' > history.csv
printf '[data]\nset = table\nfile = history.csv\nx = 2\ny = 1\n' > table.ini
refused_output './history.csv: is the data.file of this command, .*' history.csv jointflow train table.ini -o .
run jointflow train recipe.ini -o run --no-report --quiet
expect_status 0
run jointflow train run/recipe.ini -o run --no-report --quiet --resume # nothing to replace
expect_status 0

case_begin files__of_other_programs_and_versions_are_refused_with_a_sentence
printf '\070\0\0\0\0\0\0\0{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}  1234' > foreign.safetensors
fails 'foreign.safetensors: a safetensors file, but not a jointflow model: .*' jointflow info foreign.safetensors
LC_ALL=C sed 's/"jointflow.format":"7"/"jointflow.format":"8"/' "$MODEL/model.safetensors" > newer.safetensors
fails 'newer.safetensors: a model of format 8, expected 7: a later jointflow wrote it' \
    jointflow sample newer.safetensors -y 0
LC_ALL=C sed 's/"jointflow.format":"7"/"jointflow.format":"6"/' "$MODEL/model.safetensors" > older.safetensors
fails 'older.safetensors: a model of format 6, expected 7: an earlier jointflow wrote it; train the model again with this version' \
    jointflow sample older.safetensors -y 0
fails '.*/checkpoint.safetensors: a checkpoint, expected a model: .*' jointflow info "$MODEL/checkpoint.safetensors"
