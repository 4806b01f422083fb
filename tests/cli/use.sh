# Using a model: samples, maps, densities, judgements, reports.
. "$(dirname "$0")/lib.sh"
TINY="$ROOT/tests/cli/tiny.ini"
jointflow train "$TINY" -o "$work/tiny" --no-report --quiet || exit 1
MODEL="$work/tiny"
first_bytes() { head -c "$2" "$1" | od -An -c | tr -d ' \n'; }

case_begin sample__writes_csv_to_standard_output
run jointflow sample "$MODEL" -y 0,1 -n 20
expect_status 0
expect_line_count 41
expect_line 'x0,x1,y0'
expect_no_line '.*nan.*'
expect test "$(grep -c ',1$' "$work/stdout")" -eq 20
cp "$work/stdout" a
jointflow sample "$MODEL/model.safetensors" -y 0,1 -n 20 -o b.csv
expect_same a b.csv

case_begin sample__gives_1000_samples_by_default
run jointflow sample "$MODEL" -y upper
expect_line_count 1001

case_begin sample__same_seed_gives_the_same_bytes_for_any_number_of_threads
jointflow sample "$MODEL" -y 0 -n 500 --seed 1 --threads 1 > a
jointflow sample "$MODEL" -y 0 -n 500 --seed 1 --threads 2 > b
jointflow sample "$MODEL" -y 0 -n 500 --seed 1 --threads 16 > d
jointflow sample "$MODEL" -y 0 -n 500 --seed 2 > c
expect_same a b
expect_same a d
expect test "$(cmp a c | wc -l)" -eq 1

case_begin sample__temperature_multiplies_latent_points
jointflow sample "$MODEL" -y 0 -n 50 --with-z > a
jointflow sample "$MODEL" -y 0 -n 50 --with-z --temperature 0.5 > b
expect test "$(paste -d, a b | awk -F, 'NR > 1 && ($4 / 2 - $9) ^ 2 < 1e-12' | wc -l)" -eq 50

case_begin sample__temperature_zero_decodes_the_latent_origin
run jointflow sample "$MODEL" -y 0 -n 3 --with-z --temperature 0
expect_status 0
expect test "$(sort -u "$work/stdout" | wc -l)" -eq 2
printf 'z0,z1,y0\n0,0,0\n' > origin.csv
jointflow decode "$MODEL" origin.csv > decoded 2> why || cat why
expect test "$(sed -n 2p "$work/stdout" | cut -d, -f1,2)" = "$(sed -n 2p decoded | cut -d, -f1,2)"

case_begin temperature__negative_and_no_numbers_are_refused
for wrong in -1 nan -nan inf; do
    run jointflow sample "$MODEL" -y 0 --temperature $wrong
    expect_status 2
    run jointflow judge "$MODEL" --temperature $wrong
    expect_status 2
done
run jointflow judge "$MODEL" --temperature 0
expect_status 2

case_begin sample__writes_npy_of_the_right_shape
run jointflow sample "$MODEL" -y 0,1 -n 20 -o a.npy
expect_status 0
expect_line_count 0
expect test "$(first_bytes a.npy 6)" = '223NUMPY'
expect grep -aq "'shape': (40, 3)" a.npy

case_begin sample__writes_a_picture
run jointflow sample "$MODEL" -y 0:1:0.5 -n 200 -o a.png
expect_status 0
expect test "$(first_bytes a.png 4)" = '211PNG'

case_begin sample__adds_latent_points_and_conditions_on_demand
run jointflow sample "$MODEL" -y 0 -n 5 --with-y-back --with-z
expect_status 0
expect_line 'x0,x1,y0,y_back0,z0,z1'
expect_line_count 6

case_begin sample__standardised_labels_are_minus_one_and_one
jointflow sample "$MODEL" -y -1,1 -n 50 --standardised --with-z | cut -d, -f4- > a
jointflow sample "$MODEL" -y 0,1 -n 50 --with-z | cut -d, -f4- > b
expect_same a b
run jointflow sample "$MODEL" -y -1 -n 50 --standardised
cp "$work/stdout" a
run jointflow sample "$MODEL" -y 0 -n 50
expect test "$(cmp a "$work/stdout" | wc -l)" -eq 1

case_begin sample__conditions_far_off_are_answered_and_still_further_ones_or_refused_by_row
for y in -100 -10 10 100; do
    run jointflow sample "$MODEL" -y $y -n 200 --standardised
    expect_status 0
    expect_line_count 201
    expect_no_line '.*(nan|inf).*'
done
for y in -1e300 -1e39 -1e30 1e6 1e30 3e38 1e39 1e300; do
    run jointflow sample "$MODEL" -y $y -n 200 --standardised
    if [ "$status" = 0 ]; then expect_line_count 201; else expect_error_line 'jointflow: row 1: .*'; fi
    expect_no_line '.*(nan|inf).*'
done
expect_status 1

case_begin decode__undoes_encode
jointflow sample "$MODEL" -y 0,1 -n 50 -o points.csv
run jointflow encode "$MODEL" points.csv -o latent.csv
expect_status 0
expect test "$(head -n 1 latent.csv)" = 'z0,z1,y_out0'
run jointflow decode "$MODEL" latent.csv
expect_status 0
expect_line 'x0,x1,y_back0'
expect_line_count 101
tail -n +2 "$work/stdout" | paste -d, <(tail -n +2 points.csv) - > both
expect awk -F, '{ for (i = 1; i <= 3; i++) { d = $i - $(i + 3); if (d * d > 1e-8) exit 1 } }' both
expect test "$(wc -l < both)" -eq 100
jointflow encode "$MODEL" points.csv -o latent.npy
expect grep -aq "'shape': (100, 3)" latent.npy

case_begin density__comes_with_the_error_of_y
jointflow sample "$MODEL" -y 0,1 -n 50 -o points.npy
run jointflow density "$MODEL" points.npy
expect_status 0
expect_line '# mean log p\(x\|y\), nats +-?[0-9.]+.*'
expect_line "# mean \\|y' - y\\|, model's units +[0-9.e-]+"
expect_line 'log_p'
expect test "$(grep -c '^-\?[0-9]' "$work/stdout")" -eq 100
grep -v '^#' "$work/stdout" > a
run jointflow density "$MODEL" points.npy -o b.csv
expect_status 0
expect_line "mean \\|y' - y\\|, model's units +[0-9.e-]+"
expect_same a b.csv

case_begin judge__json_is_valid_and_has_its_keys
run jointflow judge "$MODEL" --json --points 500
expect_status 0
expect_line_count 1
for key in nll entropy gap y_error terms nats_per_dim roundtrip latent_ks; do expect_line ".*\"$key\": .*"; done
if command -v python3 > /dev/null; then
    expect python3 -m json.tool "$work/stdout"
else
    skip "python3 is not installed: the JSON was not checked"
fi

case_begin judge__table_tells_the_error_of_y_beside_the_likelihood
run jointflow judge "$MODEL" --points 500
expect_status 0
expect_line '  nll +-?[0-9.]+ .*'
expect_line "  mean \\|F_Y' - y\\| +[0-9.e+-]+ .*"

case_begin report__is_written_where_it_is_wanted
run jointflow report "$MODEL" --points 500 -o elsewhere
expect_status 0
expect_line 'report:  elsewhere/report.html'
expect_file elsewhere/report.html
expect grep -q '<html' elsewhere/report.html
expect_no_file "$MODEL/report.html"
cp -r "$MODEL" run
run jointflow report run --points 500
expect_status 0
expect_file run/report.html

case_begin figure__is_drawn_from_a_model_that_is_there
run jointflow figure 3 --model "$MODEL" -o folder
expect_status 0
expect_line 'figure:  folder'
expect test "$(ls folder/*.png | wc -l)" -ge 1
