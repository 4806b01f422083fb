# How the command line is read, and what is refused.
. "$(dirname "$0")/lib.sh"
TINY="$ROOT/tests/cli/tiny.ini"
jointflow train "$TINY" -o "$work/tiny" --no-report --quiet || exit 1
MODEL="$work/tiny"

# misuse MESSAGE COMMAND...: refused with exactly this one line.
misuse() {
    local message=$1
    shift
    run "$@"
    expect_status 2
    expect_error_line "jointflow: $message \\(see: jointflow help $2\\)"
    expect_error_line_count 1
    expect_line_count 0
}

case_begin options__values_may_be_attached_or_follow
jointflow sample "$MODEL" -y 0 -n 3 --seed 5 > a
jointflow sample --seed=5 -n3 "$MODEL" --y=0 > b
jointflow sample --count 3 --seed 5 -y0 -- "$MODEL" > c
expect test "$(wc -l < a)" -eq 4
expect_same a b
expect_same a c

case_begin options__the_last_of_two_counts
jointflow sample "$MODEL" -y 0 -n 3 > a
jointflow sample "$MODEL" -y 0 -n 7 -n 3 > b
expect_same a b

case_begin options__unknown_one_is_refused_with_the_nearest
misuse 'train: unknown option --sed; did you mean --seed\?' jointflow train --sed 3 "$TINY"
misuse 'train: unknown option --no-rapport; did you mean --no-report\?' jointflow train "$TINY" --no-rapport
misuse 'train: unknown option --xylophone' jointflow train "$TINY" --xylophone
misuse 'train: unknown option -Z' jointflow train "$TINY" -Z
expect_no_file out

case_begin options__numbers_are_checked_to_the_end
misuse 'sample: -n: found "3x", expected a whole number from 1 to [0-9]*' jointflow sample "$MODEL" -y 0 -n 3x
misuse 'sample: -n: found "0", expected a whole number from 1 to [0-9]*' jointflow sample "$MODEL" -y 0 -n 0
misuse 'sample: -n: found "-3", expected a whole number .*' jointflow sample "$MODEL" -y 0 -n -3
misuse 'sample: -n: found " 3", expected a whole number .*' jointflow sample "$MODEL" -y 0 -n ' 3'
misuse 'sample: --count: found "", expected a whole number .*' jointflow sample "$MODEL" -y 0 --count=
misuse 'train: --seed: found "18446744073709551616", .*' jointflow train "$TINY" --seed 18446744073709551616
misuse 'train: --threads: found "1e3", .*' jointflow train "$TINY" --threads 1e3
misuse 'bench: --seconds: found "1s", expected a number .*' jointflow bench --seconds 1s
misuse 'bench: --seconds: found "nan", expected a number .*' jointflow bench --seconds nan

case_begin options__missing_values_and_surplus_ones_are_refused
misuse 'sample: -n: nothing follows, expected N' jointflow sample "$MODEL" -n
misuse 'train: --resume takes no value, found "yes"' jointflow train "$TINY" --resume=yes
misuse 'train: RECIPE is missing, or --x and --y for a table without one' jointflow train --seed 3
misuse 'encode: DATA is missing' jointflow encode "$MODEL"
misuse 'train: unexpected argument "b"' jointflow train a b

case_begin options__set_needs_a_key_and_a_value
misuse 'train: --set: found "train.rate", expected section.key=value' jointflow train "$TINY" --set train.rate
misuse 'train: --set: found "=3", expected section.key=value' jointflow train "$TINY" --set =3

case_begin output__of_an_unknown_kind_is_refused_before_any_work
misuse 'sample: -o: found "a.xls", expected .* \.csv \.npy \.png' jointflow sample missing -y 0 -o a.xls
misuse 'encode: -o: found "a.png", expected .* \.csv \.npy' jointflow encode missing missing -o a.png

case_begin condition__takes_lists_ranges_names_and_files
rows() { jointflow sample "$MODEL" -n 1 "$@" | tail -n +2 | cut -d, -f3 | paste -sd' '; }
expect test "$(rows -y 0,1)" = '0 1'
expect test "$(rows -y '0;1')" = '0 1'
expect test "$(rows -y -2:2:0.5)" = '-2 -1.5 -1 -0.5 0 0.5 1 1.5 2'
expect test "$(rows -y 0:1:0.1 | wc -w)" -eq 11
expect test "$(rows -y 1:0:-0.5)" = '1 0.5 0'
expect test "$(rows -y upper,lower -y 0.25)" = '0 1 0.25'
printf 'y\n0.5\n0.75\n' > y.csv
expect test "$(rows -y @y.csv)" = '0.5 0.75'

case_begin condition__out_of_format_is_refused
misuse 'sample: -y: found "left", expected a number, a range FROM:TO:STEP, or one of upper, lower' \
    jointflow sample "$MODEL" -y left
misuse 'sample: -y: found "", expected a number.*' jointflow sample "$MODEL" -y 0,
misuse 'sample: -y: found "1e999", expected a number.*' jointflow sample "$MODEL" -y 1e999
misuse 'sample: -y: found "0:1", expected .*' jointflow sample "$MODEL" -y 0:1
misuse 'sample: -y: found "0:1:2:3", expected .*' jointflow sample "$MODEL" -y 0:1:2:3
misuse 'sample: -y: found "0:1:0", expected a step .*' jointflow sample "$MODEL" -y 0:1:0
misuse 'sample: -y: found "0:1:-1", expected a step .*' jointflow sample "$MODEL" -y 0:1:-1
misuse 'sample: -y: found "0:1:1e-9", expected a step .*' jointflow sample "$MODEL" -y 0:1:1e-9
misuse 'sample: -y is missing: this model needs a condition of 1 number, or one of upper, lower' \
    jointflow sample "$MODEL" --standardised
misuse 'sample: -y: class "upper" is a value .*' jointflow sample "$MODEL" -y upper --standardised

case_begin condition__file_of_another_shape_is_refused
printf '1,2\n3,4\n' > wide.csv
run jointflow sample "$MODEL" -y @wide.csv
expect_status 1
expect_error_line 'jointflow: wide.csv: found 2 columns, expected 1 of y'
run jointflow sample "$MODEL" -y @missing.csv
expect_status 1
expect_error_line 'jointflow: .*missing.csv.*'
expect_error_line_count 1

case_begin condition__of_several_dimensions_takes_vectors
awk 'BEGIN { srand(1); for (i = 0; i < 300; i++) print rand() "," rand() "," rand() }' > points.csv
jointflow recipe "$TINY" | sed -e '/^overlap/d' -e '/^noise = 0.05/d' \
    -e 's/^set = .*/set = table\nfile = points.csv\nx = 1\ny = 2/' > table.ini
run jointflow train table.ini -o run --no-report --quiet
expect_status 0
expect test "$(jointflow sample run -n 1 -y '0.1,0.2;0.3,0.4' -y 0.5,0.6 | cut -d, -f2- | paste -sd' ')" \
    = 'y0,y1 0.1,0.2 0.3,0.4 0.5,0.6'
misuse 'sample: -y: a vector of 1 number, expected 2 for this model' jointflow sample run -y 0.1
misuse 'sample: -y: found "0:1:1", expected a number' jointflow sample run -y 0:1:1,2

case_begin condition__is_not_taken_by_a_model_without_one
sed '/^lambda/d' "$TINY" > plain.ini
run jointflow train plain.ini --set loss.objective=plain -o run --no-report --quiet
expect_status 0
expect test "$(jointflow sample run -n 3 | head -n 1)" = 'x0,x1'
expect test "$(jointflow sample run -n 3 | wc -l)" -eq 4
misuse 'sample: -y: found "0", but this model has no condition' jointflow sample run -y 0
