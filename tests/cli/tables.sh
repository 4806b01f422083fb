# Tables without a recipe: from files of rows to a model and its answers.
. "$(dirname "$0")/lib.sh"
# 400 rows: (a, b) depend on c, a number, and on d, which is 0 or 1.
awk 'BEGIN { OFS = ","; srand(1); print "a,b,c,d"; for (i = 0; i < 400; i++) { c = rand(); d = int(2 * rand());
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

case_begin train__defaults_of_tables_give_way_to_what_is_set
run jointflow train --x "$work/x.csv" --y "$work/y.csv" -o run --no-report --quiet --set train.epochs=1 --set model.net=residual
expect_status 0
expect grep -qx 'net = residual' run/recipe.ini
expect test "$(grep -c '^depth' run/recipe.ini)" -eq 0
run jointflow train --x "$work/x.csv" --y "$work/y.csv" -o other --set model.net=residual --set model.depth=2
expect_status 1
expect_error_line '.*model.depth: applies only where model.net = dense.*'

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

# t.csv with an empty field in rows 4, 12, 20, ... and a column of text
awk -F, 'BEGIN { OFS = "," } NR == 1 { print "name", $0; next } NR % 8 == 5 { $2 = "" } { print "row " NR, $0 }' \
    "$work/t.csv" > "$work/holes.csv"
awk -F, 'NR % 8 != 5' "$work/t.csv" > "$work/complete.csv"

case_begin train__rows_with_missing_values_are_left_out_and_counted
run jointflow train "$work/holes.csv" --x-columns a,b --y-columns c,d -o holes $QUICK
expect_status 0
expect_error_line '.*50 of 400 rows are left out since a value is missing, the first: .*holes.csv: row 4, column 3 \("b"\)'
jointflow train "$work/complete.csv" --x-columns a,b --y-columns c,d -o complete $QUICK --bounds none
jointflow train "$work/holes.csv" --x-columns a,b --y-columns c,d -o same $QUICK --bounds none 2> /dev/null
jointflow sample complete -y '0.5,1' -n 5 > a
jointflow sample same -y '0.5,1' -n 5 > b
expect_file a
expect_same a b

case_begin train__missing_values_are_refused_where_that_is_asked_for
run jointflow train "$work/holes.csv" --x-columns a,b --y-columns c,d -o run $QUICK --missing refuse
expect_status 1
expect_error_line '.*holes.csv: row 4, column 3 \("b"\) is missing, expected a finite number; .*'
run jointflow train crescents --missing drop
expect_status 2
expect_error_line '.*--missing is for tables without a recipe.*'
run jointflow train "$work/holes.csv" --x-columns name,b --y-columns c,d -o run $QUICK
expect_status 1
expect_error_line '.*holes.csv:2: column 1 \("name"\): found "row 2", expected a number'

case_begin train__tab_and_space_separated_tables_give_the_model_of_the_csv_file
tr , '\t' < "$work/t.csv" > t.tsv
tr , ' ' < "$work/t.csv" > t.txt
for file in "$work/t.csv" t.tsv t.txt; do
    jointflow train "$file" --x-columns a,b --y-columns c,d -o "run-${file##*.}" $QUICK
    jointflow sample "run-${file##*.}" -y '0.5,1' -n 5 > "${file##*.}.out"
    expect_file "${file##*.}.out"
    expect_same csv.out "${file##*.}.out"
done

# t.csv with columns that never change: k of x, and e of y
awk -F, 'BEGIN { OFS = "," } { print $1, NR == 1 ? "k" : 3.7, $2, $3, $4, NR == 1 ? "e" : 0.1 }' "$work/t.csv" \
    > "$work/constants.csv"

case_begin train__constant_columns_are_reproduced_and_change_no_density_by_much
jointflow train "$work/t.csv" --x-columns a,b --y-columns c,d -o plain --no-report --quiet --set train.epochs=40
run jointflow train "$work/constants.csv" --x-columns a,k,b --y-columns c,d,e -o run --no-report --quiet --set train.epochs=40
expect_status 0
expect_error_line '.*constants.csv: row 1, column 2 \("k"\) is 3.7, the same number in all 360 rows to train on: samples .*'
expect_error_line '.*constants.csv: row 1, column 6 \("e"\) is 0.1, the same number in all 360 rows to train on: y .*'
run jointflow sample run -y '0.5,1,0.1' -n 20
expect test "$(grep -c '^[-0-9.e]*,3\.7,[-0-9.e]*,0\.5,1,0\.1$' "$work/stdout")" -eq 20
jointflow density plain "$work/t.csv" > a
run jointflow density run "$work/constants.csv"
expect_status 0
expect awk '/^# mean log p/ { m[n++] = $6 } END { d = m[0] - m[1]; exit !(n == 2 && d < 0.3 && d > -0.3) }' a "$work/stdout"
run jointflow sample run -y '0.5,1,7' -n 1
expect_status 0
expect_error_line '.*row 1: y2 \("e"\) is 7, but 0.1 in all rows that the model was trained on: it is ignored, .*'
printf 'a,k,b,c,d,e\n1,4,0,0.5,1,0.1\n' > other.csv
run jointflow density run other.csv
expect_status 0
expect_line '# +x outside of its bounds +1 \(log p = -inf; .*'
expect_line '-inf'
for condition in joint flow; do
    run jointflow train "$work/constants.csv" --x-columns a,k,b --y-columns c,d,e -o "$condition" $QUICK \
        --set model.condition=$condition
    expect_status 0
    run jointflow judge "$condition" --test "$work/constants.csv"
    expect_status 0
    run jointflow sample "$condition" -y '0.5,1,0.1' -n 20
    expect test "$(grep -c '^[-0-9.e]*,3\.7,[-0-9.e]*,0\.5,1,0\.1$' "$work/stdout")" -eq 20
done

case_begin train__a_run_never_replaces_the_table_of_y
mkdir run && cp "$work/y.csv" run/history.csv
run jointflow train --x "$work/x.csv" --y run/history.csv -o run $QUICK
expect_failure
expect_same run/history.csv "$work/y.csv"

jointflow train "$work/t.csv" --x-columns a,b --y-columns c,d -o "$work/run" $QUICK --bounds a=-1:3,b=-2:2 || exit 1
RUN="$work/run"

case_begin sample__column_names_are_kept_from_the_table_to_every_output
run jointflow sample "$RUN" -y '0.5,1' -n 2 --with-y-back --with-z
expect_line 'a,b,c,d,y_back_c,y_back_d,z0,z1'
run jointflow encode "$RUN" "$work/t.csv"
expect_line 'z0,z1,y_out_c,y_out_d'
jointflow encode "$RUN" "$work/t.csv" -o z.csv
run jointflow decode "$RUN" z.csv
expect_line 'a,b,y_back_c,y_back_d'
run jointflow info "$RUN"
expect_line 'columns     a \(-1 to 3\), b \(-2 to 2\); given c, d'

case_begin use__a_missing_value_is_an_error_since_each_row_has_its_answer
printf 'name,a,b,c,d\nx,1,1,0.5,1\ny,1,1,,1\n' > holes.csv
run jointflow density "$RUN" holes.csv
expect_status 1
expect_error_line '.*holes.csv: row 2, column 4 \("c"\) is missing \(nan\), expected a finite number'
run jointflow sample "$RUN" -y @holes.csv
expect_status 1
expect_error_line '.*holes.csv: row 2, column 4 \("c"\) is missing \(nan\), expected a finite number'

case_begin judge__test_rows_with_missing_values_are_left_out_and_counted
run jointflow judge "$RUN" --test "$work/holes.csv"
expect_status 0
expect_error_line '.*50 of 400 rows are left out since a value is missing, the first: .*'

case_begin sample__takes_rows_of_conditions_from_a_file_by_their_names_in_any_order
printf 'id,d,c\n7,1,0.5\n8,0,0.25\n' > by-name.csv
printf '0.5,1\n0.25,0\n' > by-place.csv
run jointflow sample "$RUN" -y @by-name.csv -n 3
expect_status 0
expect_line_count 7
expect test "$(grep -c ',0.5,1$' "$work/stdout")" -eq 3
expect test "$(grep -c ',0.25,0$' "$work/stdout")" -eq 3
cp "$work/stdout" a
jointflow sample "$RUN" -y @by-place.csv -n 3 > b
expect_same a b
printf 'c,e\n1,0.5\n' > other.csv
run jointflow sample "$RUN" -y @other.csv
expect_status 1
expect_error_line '.*other.csv: there is no column "d", .*'

case_begin density__outside_of_bounds_is_minus_infinity_and_left_out_of_the_means
printf 'a,b,c,d\n0.5,0.5,0.5,0\n3.5,0.5,0.5,0\n0.25,0.5,0.5,0\n' > rows.csv
run jointflow density "$RUN" rows.csv
expect_status 0
expect_line '# rows                          3'
expect_line '#   x outside of its bounds     1 .*'
expect test "$(grep -v '^#' "$work/stdout" | sed -n 3p)" = -inf
grep '^# mean log p' "$work/stdout" > with
sed -i 3d rows.csv
jointflow density "$RUN" rows.csv | grep '^# mean log p' > without
expect_same with without
run jointflow density "$RUN" rows.csv -o p.npy
expect_status 0
printf '3.5,0.4,0.3,1\n0.1,0.4,0.3,1\n' >> rows.csv
run jointflow judge "$RUN" --test rows.csv --json
expect_status 0
expect grep -q '"outside": 1,' "$work/stdout"

case_begin density__takes_x_and_conditions_from_files_of_their_own
run jointflow density "$RUN" "$work/x.csv" -y "$work/y.csv" -o apart.csv
expect_status 0
jointflow density "$RUN" "$work/t.csv" -o together.csv > /dev/null
expect_same apart.csv together.csv
awk -F, '{ print $4 "," $1 "," $3 "," $2 }' "$work/t.csv" > shuffled.csv
jointflow density "$RUN" shuffled.csv -o shuffled-p.csv > /dev/null
expect_same shuffled-p.csv together.csv
printf 'c,d\n0.5,1\n' > one.csv
run jointflow encode "$RUN" "$work/x.csv" -y one.csv
expect_line_count 401
head -n 4 "$work/y.csv" > three.csv
run jointflow encode "$RUN" "$work/x.csv" -y three.csv
expect_status 1
expect_error_line '.*three.csv: found 3 rows, expected 400 as in .*, or one for all of them'

case_begin density__columns_of_one_name_are_taken_in_their_order
{ echo a,a,c,d && tail -n +2 "$work/t.csv"; } > same.csv
tail -n +2 "$work/t.csv" > nameless.csv
{ echo c,a,d,a && awk -F, 'NR > 1 { print $3 "," $1 "," $4 "," $2 }' "$work/t.csv"; } > moved.csv
run jointflow train same.csv --x-columns 1,2 --y-columns 3,4 -o run $QUICK
for file in nameless same moved; do
    run jointflow density run $file.csv -o $file-density.csv
    expect_status 0
    expect_same nameless-density.csv $file-density.csv
done
awk -F, 'NR == 1 { print $0 ",a" } NR > 1 { print $0 ",1" }' same.csv > more.csv
run jointflow density run more.csv
expect_status 1
expect_error_line 'jointflow: more.csv: more columns are called "a" than the model has, expected as many, or .* 4 columns'
printf 'c,c,d\n1,2,3\n' > y.csv
run jointflow sample run -y @y.csv -n 1
expect_status 1
expect_error_line 'jointflow: y.csv: more columns are called "c" than the model has, .* 2 columns'

case_begin train__bounds_are_found_in_evenly_filled_columns_and_told
awk 'BEGIN { srand(2); print "t,n,o"; for (i = 0; i < 1000; i++) { t = 4 * rand() - 2;
     print t "," int(3 * rand()) "," t + rand() } }' > even.csv
run jointflow train even.csv --x-columns t,n --y-columns o -o found --no-report --set train.epochs=1
expect_status 0
expect_line 'even.csv: t fills -2 to 2 evenly up to both edges, which is taken as its support .*'
expect_line 'hint: even.csv: n: all values are whole numbers from 0 to 2: --bounds n=whole:0:2 .*'
expect grep -qx 'bounds = x0=cut:-2:2' found/recipe.ini
jointflow train even.csv --x-columns t,n --y-columns o -o given --no-report --quiet --set train.epochs=1 \
    --bounds auto --bounds n=whole:0:2
run jointflow sample given -y 100 -n 1000
expect_status 0
expect test "$(awk -F, 'NR > 1 && ($1 < -2 || $1 > 2 || $2 != int($2) || $2 < 0 || $2 > 2)' "$work/stdout" | wc -l)" -eq 0
jointflow train even.csv --x-columns t,n --y-columns o -o none --no-report --quiet --set train.epochs=1 --bounds none
expect grep -qx 'bounds = *' none/recipe.ini

case_begin train__of_many_evenly_filled_columns_none_is_cut
awk 'BEGIN { srand(3); print "a,b,c,d,e,f,o"; for (i = 0; i < 1000; i++) print rand() "," rand() "," rand() "," rand() "," rand() "," rand() "," rand() }' > many.csv
jointflow train many.csv --x-columns a,b,c,d,e,f --y-columns o -o six --no-report --quiet --set train.epochs=1
expect test "$(grep -c '^bounds = x0=uniform:0:1,.*,x5=uniform:0:1$' six/recipe.ini)" -eq 1
jointflow train many.csv --x-columns a,b,c,d,e --y-columns o -o five --no-report --quiet --set train.epochs=1
expect test "$(grep -c '^bounds = x0=cut:0:1,.*,x4=cut:0:1$' five/recipe.ini)" -eq 1

case_begin train__a_joint_model_is_warned_of_conditions_that_hardly_vary
awk 'BEGIN { OFS = ","; srand(1); print "a,b,c,d"; for (i = 0; i < 600; i++) print rand(), rand(), rand(), i % 100 ? 0 : rand() }' > t.csv
run jointflow train t.csv --x-columns a,b --y-columns c,d -o joint --set model.condition=joint --set train.epochs=1 --no-report
expect_status 0
expect grep -q 'column 2 of y is 0 in 9[0-9.]*% of the rows: .* set train.y_noise = 0.025, or model.condition = fixed' "$work/stderr"
run jointflow train t.csv --x-columns a,b --y-columns c,d -o fixed --set train.epochs=1 --no-report
expect_status 0
expect test "$(grep -c 'of the rows: they do not show' "$work/stderr")" -eq 0

case_begin judge__columns_are_called_by_their_names_in_verdicts
awk 'BEGIN { OFS = ","; srand(1); print "mass,charge,spin,signal"; for (i = 0; i < 2000; i++) { s = rand()
     print s + 0.1 * (rand() + rand() - 1), rand() + rand(), rand() * rand(), s } }' > t.csv
jointflow train t.csv --x-columns mass,charge,spin --y-columns signal -o run --no-report --quiet --set train.epochs=3 \
    --set model.blocks=1 --set model.width=8
run jointflow judge run --temperature 0.3
expect_status 0
expect_line '.*charge is over-confident.*'
run jointflow judge run --temperature 0.3 --json
expect grep -q '"name": "charge"' "$work/stdout"
expect grep -q '"worst_y": ' "$work/stdout"

case_begin sample__summary_tells_quantiles_modes_and_regions_of_each_condition
jointflow train "$work/t.csv" --x-columns a,b,c --y-columns d -o run $QUICK
run jointflow sample run -y '0;1' -n 500 --summary s.csv
expect_status 0
expect test ! -s "$work/stdout"
expect test "$(head -1 s.csv)" = condition,d,column,mean,deviation,q5,q25,q50,q75,q95,mode,hpd50,hpd90,log_p_mode,log_p_hpd50,log_p_hpd90
expect test "$(wc -l < s.csv)" -eq 7
expect grep -q '^2,1,c,' s.csv
expect test "$(cut -d, -f12 s.csv | tail -n +2 | grep -c ':')" -eq 6
run jointflow sample run -y '0;1' -n 500 --summary s.json --masses 0.68 --quantiles 0.1,0.9 -o samples.csv
expect_status 0
expect python3 -c 'import json; s = json.load(open("s.json")); assert len(s["conditions"]) == 2 and s["masses"] == [0.68]'
expect test "$(wc -l < samples.csv)" -eq 1001
run jointflow sample run -y 0 -n 500 --summary -
expect_status 0
expect_line 'condition 1: d = 0'
run jointflow sample run -y 0 --summary s.txt
expect_status 2
expect_error_line '.*--summary: found "s.txt", expected a name that ends in .csv or .json, or -.*'
run jointflow sample run -y 0 --summary s.csv --temperature 0.5
expect_status 2
expect_error_line '.*--summary is of samples of .*, which --temperature changes.*'
run jointflow sample run -y 0 --summary s.csv --masses 0.5,x
expect_status 2
expect_error_line '.*--masses: found "0.5,x", expected 1 to 16 numbers separated by commas.*'
run jointflow sample run -y 0 --masses 0.5
expect_status 2
run jointflow sample run -y 0 --summary s.csv --masses 1
expect_status 1
expect_error_line '.*masses of a summary: found 1, expected a number above 0 and below 1'

case_begin sample__corner_is_a_picture_of_all_columns_against_each_other
jointflow train "$work/t.csv" --x-columns a,b,c --y-columns d -o run $QUICK
run jointflow sample run -y '0;1;0.5' -n 200 --corner -o corner.png
expect_status 0
expect_file corner.png
jointflow sample run -y '0;1;0.5' -n 200 -o plain.png
expect test "$(wc -c < corner.png)" -ne "$(wc -c < plain.png)"
run jointflow sample run -y 0 -n 200 --corner -o corner.csv
expect_status 2
expect_error_line '.*--corner is a picture, expected -o FILE.png.*'
run jointflow sample run -y '0;0.1;0.2;0.3;0.4;0.5;0.6' -n 10 --corner -o many.png
expect_status 0
expect_error_line '.*many.png: the first 6 values of y are drawn, 10 rows with others are left out'

case_begin train__a_header_in_latin_1_is_read_saved_and_resumed
{ printf 'gr\366\337e,b,c\n'; tail -n +2 "$work/t.csv" | cut -d, -f1-3; } > latin.csv
run jointflow train latin.csv --x-columns größe,b --y-columns c -o run --no-report --set train.epochs=1
expect_status 0
expect_line 'latin.csv:1: the header is not UTF-8: read as Windows-1252 \(Latin-1\)'
run jointflow train run/recipe.ini -o run --no-report --quiet --resume
expect_status 0
run jointflow sample run -y 0.5 -n 3
expect_line '"?größe"?,b,c'
run jointflow density run latin.csv
expect_status 0

case_begin train__a_column_is_x_or_y_and_once
for columns in 'a,b b' 'a,1 c' 'a,b 4,2' 'a b,b'; do
    run jointflow train "$work/t.csv" --x-columns ${columns% *} --y-columns ${columns#* } -o run $QUICK
    expect_status 1
    expect_error_line '.*t.csv: column [12] \("[ab]"\) is .*, expected each column once'
done
run jointflow train --x "$work/t.csv" --y "$work/t.csv" -o run $QUICK
expect_status 1
expect_error_line '.*t.csv: column 1 \("a"\) is x0 and y0, expected each column once'
expect_no_file run

# Unix times, a second apart on average
awk 'BEGIN { srand(4); print "t,y"; for (i = 0; i < 1000; i++) { y = rand(); s = 0; for (k = 0; k < 6; k++) s += rand();
     printf "%.3f,%.9g\n", 1700000000 + 1000 * y + 100 * s, y } }' > "$work/times.csv"

case_begin sample__numbers_far_from_zero_are_as_many_in_files_and_pipes
jointflow train "$work/times.csv" --x-columns t --y-columns y -o far $QUICK
jointflow sample far -y 0.5 -n 1000 -o s.npy
jointflow sample far -y 0.5 -n 1000 -o s.csv
run jointflow sample far -y 0.5 -n 1000
expect_same "$work/stdout" s.csv
expect test "$(cut -d, -f1 s.csv | sort -u | wc -l)" -eq 1001
expect test "$(cut -d, -f1 s.csv | awk 'NR > 1 && ($1 < 1.69e9 || $1 > 1.71e9)' | wc -l)" -eq 0
for form in npy csv; do
    jointflow density far s.$form -o $form.csv > /dev/null
    jointflow encode far s.$form > encoded.$form
done
expect_same npy.csv csv.csv
expect_same encoded.npy encoded.csv
expect test "$(sort -u csv.csv | wc -l)" -gt 990
jointflow sample far -y 0.5 -n 1000 --summary s.txt.csv
expect test "$(awk -F, 'NR == 2 { print ($11 > $7) }' s.txt.csv)" -eq 1
expect grep -qE '^1,0.5,t,1[0-9]{9}\.[0-9]{4,},' s.txt.csv

case_begin sample__on_a_terminal_shows_a_millionth_of_the_spread
if command -v script > /dev/null; then
    jointflow train "$work/times.csv" --x-columns t --y-columns y -o far $QUICK
    script -qec "jointflow sample far -y 0.5 -n 200" typescript > /dev/null < /dev/null
    expect test "$(grep -cE '^17[0-9]{8}(\.[0-9]*)?,0\.5' typescript)" -ge 190
    expect test "$(grep -E '^17' typescript | cut -d, -f1 | sort -u | wc -l)" -ge 195
else
    skip "script(1) is not installed: there is no terminal"
fi
