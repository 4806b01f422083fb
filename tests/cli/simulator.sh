# judge --simulator: what is simulated from answers, and commands that do not do what they should.
. "$(dirname "$0")/lib.sh"
# Three parameters, one of them a whole number, and two measurements: simulated by simulate.sh, which the table comes from, too.
cat > "$work/simulate.sh" <<'SIMULATOR'
awk -F, -v seed="$1" 'BEGIN { srand(seed) } { printf "%.9g,%.9g\n", $1 + $2 + 0.1 * (rand() - 0.5), $2 * $3 + 0.1 * (rand() - 0.5) }'
SIMULATOR
awk 'BEGIN { srand(1); for (i = 0; i < 1500; i++) printf "%.9g,%.9g,%d\n", rand() + rand(), rand(), 3 * rand() }' > "$work/rows"
sh "$work/simulate.sh" 2 < "$work/rows" | paste -d, "$work/rows" - | sed '1i a,b,n,left,right' > "$work/t.csv"
jointflow train "$work/t.csv" --x-columns a,b,n --y-columns left,right --bounds n=whole:0:2,b=0:1 -o "$work/run" --no-report \
    --quiet --set train.epochs=20 --set model.blocks=1 --set model.width=32
JUDGE="judge $work/run --points 400"

case_begin judge__answers_are_simulated_beside_the_truth
run jointflow $JUDGE --simulator "sh $work/simulate.sh 3"
expect_status 0
expect_line '  y simulated from an answer to each of 150 pairs of the data, and from the truth'
expect_line '  left .*'
run jointflow $JUDGE --simulator "sh $work/simulate.sh 3" --json
expect_status 0
expect grep -q '"posterior_predictive": {"pairs": 150' "$work/stdout"
expect grep -q '"name": "right", "error": ' "$work/stdout"

case_begin judge__a_simulator_gets_whole_numbers_where_columns_are_whole
run jointflow $JUDGE --simulator "tee rows.csv | sh $work/simulate.sh 3"
expect_status 0
expect_file rows.csv
expect test "$(awk -F, 'NF != 3 || $3 != int($3) || $3 < 0 || $3 > 2 || $2 < 0 || $2 > 1' rows.csv | wc -l)" -eq 0

case_begin judge__answers_that_miss_are_named_with_their_column
run jointflow $JUDGE --temperature 3 --simulator "sh $work/simulate.sh 3"
expect_status 0
expect_line '.*left, simulated from answers, is off by .*, from the truth by .*'

case_begin judge__a_simulator_that_fails_is_told_in_words
refused() { # COMMAND PATTERN
    run timeout 60 "$BUILD/jointflow" $JUDGE --simulator "$1" --simulator-timeout 2
    expect_status 1
    expect_error_line "$2"
}
refused 'exit 3' '.*--simulator "exit 3": exit status 3, expected 0'
refused 'no-such-command' '.*exit status 127: the command was not found'
refused 'sleep 98765' '.*did not end within 2 s, and was ended; --simulator-timeout gives it more'
refused 'exec >&-; sleep 98765' '.*did not end within 2 s, and was ended.*'
refused 'head -n 7 | sed s/,[^,]*$//' '.*found 7 rows, expected 150, one for each row of x'
refused 'cat' '.*line 1: found ".*", expected 2 numbers separated by commas'
refused 'sed s/.*/1,high/' '.*line 1: found "1,high", expected 2 numbers separated by commas'
refused 'sed s/.*/1,nan/' '.*line 1: found "1,nan", expected 2 numbers.*'
refused 'sed -e s/.*/1,2/ -e p' '.*line 151: found more than the 150 rows that were asked for'
refused 'yes 1,2' '.*wrote more than [0-9]* bytes, which is too much'
refused 'kill -9 $$' '.*was ended by signal 9'
expect test "$(pgrep -f '^sleep 98765' | wc -l)" -eq 0

