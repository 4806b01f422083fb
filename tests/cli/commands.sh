# Commands that are printed work as they stand when they are pasted, from any directory.
. "$(dirname "$0")/lib.sh"

# printed FILE...: the commands in what was printed and written, one a line.
printed() {
    cat "$@" | sed -nE -e 's/&#39;/'"'"'/g; s/&quot;/"/g; s/&amp;/\&/g' \
        -e 's/^(<pre>|    |samples: |example     )?(\S*jointflow (sample|density|judge) [^<]*)(<\/pre>)?$/\2/p'
}

# expect_pasted COUNT FILE...: so many commands there are, and each runs in a folder of its own without its name in PATH alone.
expect_pasted() {
    local count=$1 number=0
    shift
    printed "$@" > "$work/commands"
    expect test "$(wc -l < "$work/commands")" -eq "$count"
    while read -r command; do
        number=$((number + 1))
        mkdir -p "$work/elsewhere/$number"
        case $command in *" judge "*) command="$command --points 100" ;; esac
        (cd "$work/elsewhere/$number" && sh -ec "$command") > "$work/stdout" 2> "$work/stderr" < /dev/null ||
            case_fail "$command: $(head -n 1 "$work/stderr")"
    done < "$work/commands"
    rm -rf "$work/elsewhere"
}

# Judging a model of two columns integrates the density: tables here have three.
QUICK="--set train.epochs=2 --set model.blocks=1 --set model.width=8"
table() { # COLUMNS: 300 rows of numbers that depend on each other, the last is y
    awk -v n="$1" 'BEGIN { srand(3); for (k = 0; k < n; k++) printf "c%d%s", k, k + 1 < n ? "," : "\n"
        for (i = 0; i < 300; i++) { y = rand(); for (k = 0; k + 1 < n; k++) printf "%.9g,", y + 0.3 * (rand() + rand() + rand())
            printf "%.4f\n", y + 1700000000 } }'
}

case_begin commands__of_a_run_on_a_table_can_be_pasted_elsewhere
mkdir "a folder" && cd "a folder" || exit 2
table 4 > "t it's.csv"
run jointflow train "t it's.csv" --x-columns c0,c1,c2 --y-columns c3 $QUICK
expect_status 0
cp "$work/stdout" trained
run jointflow info "out/t it's"
expect_status 0
cp "$work/stdout" told
expect_pasted 2 trained told
expect_pasted 3 "out/t it's/report.html"
run jointflow pack "out/t it's" -o mine.safetensors
expect_status 0
expect_pasted 2 mine.md

case_begin commands__of_two_files_one_column_and_many_conditions_can_be_pasted_elsewhere
table 6 | cut -d, -f1,2 > x.csv
table 6 | cut -d, -f3-6 > y.csv
run jointflow train --x x.csv --y y.csv -o run $QUICK
expect_status 0
expect_pasted 1 "$work/stdout"
expect_pasted 3 run/report.html
run jointflow train --x x.csv -o plain $QUICK
expect_status 0
expect_pasted 1 "$work/stdout"
expect_pasted 3 plain/report.html

case_begin commands__of_classes_and_of_whole_numbers_can_be_pasted_elsewhere
awk 'BEGIN { srand(5); print "a,b,k"; for (i = 0; i < 300; i++) { k = int(3 * rand()); print rand() + k "," rand() - k "," k } }' > t.csv
run jointflow train t.csv --x-columns a,b --y-columns k --discrete -o run $QUICK
expect_status 0
expect_line "samples: .*jointflow sample .* -y 0,1,2 -o samples.png"
expect_pasted 1 "$work/stdout"
run jointflow train t.csv --x-columns a,b --y-columns k --bounds k=whole:0:2 -o whole --no-report $QUICK
expect_status 0
expect_pasted 1 "$work/stdout"

case_begin commands__of_images_can_be_pasted_elsewhere
run jointflow train "$ROOT/tests/cli/glyphs.ini" -o class --no-report
expect_status 0
expect_pasted 1 "$work/stdout"
run jointflow train "$ROOT/tests/cli/glyphs.ini" -o blur --no-report --set data.task=blur --set data.classes=all
expect_status 0
expect_line "samples: .*jointflow sample .*/blur --row 1 -o samples.png"
expect_pasted 1 "$work/stdout"

case_begin commands__call_the_program_by_its_path_where_it_was_called_so
table 4 > t.csv
mkdir bin && ln -s "$BUILD/jointflow" bin/jointflow
run bin/jointflow train t.csv --x-columns c0,c1,c2 --y-columns c3 -o run --no-report $QUICK
expect_status 0
expect_line "samples: /.*/jointflow sample /.*/run -y .*"
expect_pasted 1 "$work/stdout"

case_begin commands__of_a_model_that_came_with_the_program_call_it_by_its_name
run jointflow info crescents
expect_line 'example     jointflow sample crescents -y upper,lower -o samples.png'
expect_pasted 1 "$work/stdout"

case_begin train__a_table_that_is_not_there_is_said_to_be_missing
run jointflow train nosuch.csv
expect_status 1
expect_error_line 'jointflow: nosuch.csv: no such file; .*'

case_begin train__a_run_of_a_relative_path_is_resumed_and_judged_from_elsewhere
table 4 > t.csv
jointflow train t.csv --x-columns c0,c1,c2 --y-columns c3 -o run --quiet --no-report $QUICK
expect grep -q "^file = $PWD/t.csv" run/recipe.ini
here=$PWD
mkdir elsewhere && cd elsewhere || exit 2
run jointflow judge "$here/run" --points 100
expect_status 0
run jointflow train "$here/t.csv" --x-columns c0,c1,c2 --y-columns c3 -o "$here/run" --quiet --no-report --resume $QUICK
expect_status 0
