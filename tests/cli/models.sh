# Models that came with the program: found by name, packed, each with a card that is true.
. "$(dirname "$0")/lib.sh"
jointflow train "$ROOT/tests/cli/tiny.ini" -o "$work/tiny" --no-report --quiet || exit 1
MODEL="$work/tiny"
jointflow train rule-circle --set train.epochs=2 --set train.batches=2 -o "$work/rule" --no-report --quiet || exit 1
RULE="$work/rule"
unset JOINTFLOW_MODELS

case_begin models__names_are_found_from_any_folder
run jointflow info crescents
expect_status 0
expect_line 'recipe      crescents.ini'
run jointflow sample crescents -n 5
expect_status 0
expect_line_count 11
run jointflow judge rule-circle --points 500
expect_status 0

case_begin models__every_shipped_one_loads_and_its_card_tells_of_it
for file in "$ROOT"/models/*.safetensors "$ROOT"/models/*/*.safetensors; do
    [ -e "$file" ] || continue
    name=${file#"$ROOT/models/"} name=${name%.safetensors} card=${file%.safetensors}.md
    run jointflow info "$name"
    expect_status 0
    expect_file "$card"
    expect grep -qxF "# $name" "$card"
    expect grep -qF "$(sha256sum "$file" | cut -d ' ' -f 1)" "$card"
    expect grep -qF "$(sed -n 's/^training *\(.*\), seed [0-9]*$/\1/p' "$work/stdout")" "$card"
    run jointflow info
    expect_line "$name +[^ ].*"
done

# The divergence of a table and its standard error.
divergence_in() { awk '$1 == "divergence" { found = $2; getline; print found, $3; exit }' "$1"; }

case_begin models__the_divergence_of_a_card_is_that_of_judging_within_the_errors
for name in rule-circle rule-diamond; do
    run jointflow judge $name --points 100000 --seed 1
    expect awk 'BEGIN { d = ARGV[1] - ARGV[3]; exit !(ARGV[4] > 0 && d * d < 16 * (ARGV[2]^2 + ARGV[4]^2)) }' \
        $(divergence_in "$work/stdout") $(divergence_in "$ROOT/models/$name.md")
done

case_begin models__all_together_take_at_most_15_megabytes
expect test "$(cat "$ROOT"/models/*.safetensors "$ROOT"/models/*/* 2> /dev/null | wc -c)" -le 15000000

case_begin models__a_file_or_run_of_the_name_comes_first
cp -r "$MODEL" crescents
run jointflow info crescents
expect_line 'recipe      tiny.ini'

case_begin models__unknown_names_are_refused_with_the_places
run jointflow info no-such-model
expect_status 1
expect_error_line 'jointflow: no-such-model: no such file, and no model of that name in models, .*/models, .*/share/jointflow/models'

case_begin models__a_folder_of_several_is_one_name
mkdir -p models/pair
cp "$MODEL/model.safetensors" models/pair/a.safetensors
cp "$MODEL/model.safetensors" models/pair/b.safetensors
run jointflow info pair/a
expect_status 0
run jointflow info pair
expect_status 1
expect_error_line 'jointflow: pair: several models \(.*pair/a.safetensors, .*pair/b.safetensors, ...\), expected one: name it'
run jointflow superres pair x.png
expect_status 1
expect_error_line 'jointflow: the first model .* is of vectors, expected one of super-resolution'

case_begin models__the_folder_of_an_unfinished_run_is_no_pair
mkdir run && cp "$MODEL/recipe.ini" "$MODEL/checkpoint.safetensors" run/
run jointflow info run
expect_status 1
expect_error_line 'jointflow: run: a folder without model.safetensors, so not a finished run'

case_begin pack__halves_the_file_and_tells_both_judgements
run jointflow pack "$RULE" --half -o packed.safetensors --points 1000
expect_status 0
expect_line ' +whole +half'
expect_line '  loss +[-0-9.]+ +[-0-9.]+'
expect_line 'packed.safetensors: [0-9.]+ kB'
expect test "$(stat -c %s packed.safetensors)" -lt "$(($(stat -c %s "$RULE/model.safetensors") * 7 / 10))"
expect grep -qF "$(sha256sum packed.safetensors | cut -d ' ' -f 1)" packed.md
expect grep -qx '# packed' packed.md
expect grep -q '^| 1 | train |' packed.md
expect_no_file packed.packing.tmp

case_begin pack__the_numbers_of_a_card_are_those_of_judging
jointflow pack "$RULE" -o packed.safetensors --points 1000 > /dev/null
jointflow judge packed.safetensors --points 1000 | sed 's/^\(.\)/    \1/; s/ *$//' > judged
expect test "$(grep -cxFf judged packed.md)" -ge "$(grep -c . judged)"

case_begin pack__refuses_where_the_judgement_suffers
run jointflow pack "$RULE" --half --tolerance 1e-9 -o packed.safetensors --points 1000
if [ "$status" = 0 ]; then skip "rounding made this model better"; fi
expect_status 1
expect_line '  loss .*'
expect_error_line 'jointflow: packed.safetensors: in half precision the loss is worse by .* nats per dimension, expected at most 1e-09: .*'
expect_no_file packed.safetensors
expect_no_file packed.md

case_begin pack__never_replaces_a_model_unasked
cp "$RULE/model.safetensors" there.safetensors
run jointflow pack "$RULE" -o there.safetensors --points 100
expect_status 1
expect_error_line 'jointflow: -o there.safetensors: is a model or a checkpoint, which is never replaced; .*'
run jointflow pack "$RULE" -o there.safetensors --points 100 --force
expect_status 0

case_begin sample__without_conditions_takes_all_classes
run jointflow sample "$MODEL" -n 3
expect_line_count 7
cp "$work/stdout" all
jointflow sample "$MODEL" -n 3 -y upper,lower > named
expect_same all named

case_begin figure__toys_are_drawn_from_shipped_models_without_training
run jointflow figure 3 -o out
expect_status 0
expect_file out/figure-3-inference.png
expect_no_file out/crescents
run jointflow figure D1 -o out
expect_status 0
expect_file out/figure-D1.png
for error in $(tail -n +2 out/figure-D1.csv | cut -d, -f4); do
    expect awk "BEGIN { exit !($error < 1e-2) }"
done

case_begin figure__of_several_those_without_models_are_left_out_with_a_line
mkdir some && cp "$ROOT/models/sectors.safetensors" some/
run jointflow figure all --models some -o out
expect_status 0
expect_file out/figure-4.png
expect_no_file out/figure-3-maps.png
expect_error_line '.*figure 3 is left out: no model "crescents" in some: train the recipe crescents and pack it under that name, .*'
expect_error_line '.*figure E.1 is left out: no model "mnist-class" in some: .*'

case_begin figure__a_single_one_without_its_model_fails_with_the_same_sentence
mkdir some
run jointflow figure 3 --models some -o out
expect_status 1
expect_error_line 'jointflow: no model "crescents" in some: .*'
run jointflow figure 3 --models nowhere -o out
expect_status 1
expect_error_line 'jointflow: --models nowhere: no such folder'

case_begin figure__super_resolution_has_its_images_from_beside_the_models
mkdir -p some/fashion some/examples
cp -r "$ROOT/models/examples/fashion-mnist" some/examples/glyphs # the data that these models were trained on
for step in 7-14:1 14-28:0; do
    jointflow train "$ROOT/tests/cli/glyphs.ini" -o run --force --no-report --quiet --set data.task=superres \
        --set "data.down=${step#*:}" --set data.classes=all
    cp run/model.safetensors "some/fashion/${step%:*}.safetensors"
done
run jointflow figure F.8 --models some -o out
expect_status 0
expect_file out/figure-F8.png
expect grep -q '^boot,' out/figure-F8.csv
