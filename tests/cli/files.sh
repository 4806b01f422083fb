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
fails '.*: the name of a class is not UTF-8, expected one that is .*: rename the folder' jointflow train images.ini
expect_no_file out

case_begin names__beyond_ascii_survive_training_and_resuming
cp "$TINY" 'Größe 日本.ini'
run jointflow train 'Größe 日本.ini' -o run --no-report --quiet
expect_status 0
run jointflow info run
expect_status 0
expect_line '.*Größe 日本.*'
run jointflow train 'Größe 日本.ini' -o run --no-report --quiet --resume
expect_status 0

case_begin csv__a_first_row_with_a_missing_number_is_refused_not_taken_for_a_header
printf '1,NA,0\n3,4,1\n5,6,0\n' > missing.csv
for command in encode density; do
    fails 'missing.csv:1: column 2: found "NA", expected a number, or names in all columns of a header .*' \
        jointflow $command "$MODEL" missing.csv
done
printf '[data]\nset = table\nfile = missing.csv\nx = 2\ny = 1\n' > table.ini
fails '.*missing.csv:1: column 2: found "NA", .*' jointflow train table.ini
printf '1_000,2,0\n3,4,1\n5,6,0\n' > missing.csv
fails 'missing.csv:1: column 1: found "1_000", expected a number, .*' jointflow encode "$MODEL" missing.csv
printf '"1","NA",y0\n3,4,1\n5,6,0\n' > named.csv
run jointflow encode "$MODEL" named.csv -o out.csv
expect_status 0
expect test "$(wc -l < out.csv)" = 3
