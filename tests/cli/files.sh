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
