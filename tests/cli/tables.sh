# Tables without a recipe: from files of rows to a model and its answers.
. "$(dirname "$0")/lib.sh"
# 400 rows: (a, b) depend on c, a number, and on d, which is 0 or 1.
awk 'BEGIN { srand(1); print "a,b,c,d"; for (i = 0; i < 400; i++) { c = rand(); d = int(2 * rand());
     printf "%.9g,%.9g,%.9g,%d\n", c + d + 0.1 * rand(), c * c - d + 0.1 * rand(), c, d } }' > "$work/t.csv"
cut -d, -f1,2 "$work/t.csv" > "$work/x.csv"
cut -d, -f3,4 "$work/t.csv" > "$work/y.csv"
QUICK="--no-report --quiet --set train.epochs=2 --set model.blocks=1 --set model.width=8"

case_begin train__two_files_need_no_recipe
run jointflow train --x "$work/x.csv" --y "$work/y.csv" -o run --set train.epochs=2
expect_status 0
expect_file run/model.safetensors
expect_file run/report.html
expect_file run/recipe.ini
expect_line '  nll .*'
expect grep -qx "y_file = $work/y.csv" run/recipe.ini

case_begin train__columns_of_one_file_give_the_same_model_as_two_files
jointflow train --x "$work/x.csv" --y "$work/y.csv" -o two $QUICK
jointflow train "$work/t.csv" --x-columns a,b --y-columns c,d -o one $QUICK
jointflow sample one -y '0.5,1' -n 5 > a
jointflow sample two -y '0.5,1' -n 5 > b
expect_file a
expect_same a b

case_begin train__the_recipe_that_was_made_gives_the_same_model_again
jointflow train --x "$work/x.csv" --y "$work/y.csv" -o one $QUICK
jointflow train one/recipe.ini -o two --no-report --quiet
jointflow sample one -y '0.5,1' -n 5 > a
jointflow sample two -y '0.5,1' -n 5 > b
expect_file a
expect_same a b

case_begin train__a_table_without_a_recipe_is_resumed_like_any_run
jointflow train --x "$work/x.csv" --y "$work/y.csv" -o run $QUICK
run jointflow train --x "$work/x.csv" --y "$work/y.csv" -o run $QUICK --resume
expect_status 0

case_begin train__what_is_asked_of_a_table_is_told_in_words
run jointflow train "$work/t.csv"
expect_status 2
expect_error_line '.*which columns are x and which y\? Expected --x-columns and --y-columns.*'
run jointflow train "$work/t.csv" --x-columns a,height --y-columns c
expect_status 1
expect_error_line '.*there is no column "height", expected "a", "b", "c", "d"'
run jointflow train crescents --y "$work/y.csv"
expect_status 2
expect_error_line '.*--y is for tables without a recipe.*'
head -n 11 "$work/y.csv" > short.csv
run jointflow train --x "$work/x.csv" --y short.csv -o run
expect_status 1
expect_error_line '.*short.csv: found 10 rows, expected 400 as in .*'
expect_no_file run

case_begin train__a_run_never_replaces_the_table_of_y
mkdir run && cp "$work/y.csv" run/history.csv
run jointflow train --x "$work/x.csv" --y run/history.csv -o run $QUICK
expect_failure
expect_same run/history.csv "$work/y.csv"
