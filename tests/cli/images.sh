# Image models: samples by class and of degraded images, super-resolution, lines, pictures.
. "$(dirname "$0")/lib.sh"
TINY="$ROOT/tests/cli/glyphs.ini"
CLASS="$work/class" COARSE="$work/coarse" FINE="$work/fine" BLUR="$work/blur" VECTORS="$work/vectors"
# Such short runs learn nothing, and say so.
train() {
    jointflow train "$1" -o "$2" --no-report --quiet "${@:3}" 2> "$work/train.log" || { cat "$work/train.log" >&2; exit 1; }
}
train "$TINY" "$CLASS"
train "$TINY" "$COARSE" --set data.task=superres --set data.down=1 --set data.classes=all
train "$TINY" "$FINE" --set data.task=superres --set data.classes=all
train "$TINY" "$BLUR" --set data.task=blur --set data.classes=all
train "$ROOT/tests/cli/tiny.ini" "$VECTORS"

first_bytes() { head -c "$2" "$1" | od -An -c | tr -d ' \n'; }
expect_png() { expect test "$(first_bytes "$1" 4)" = '211PNG'; }
expect_npy() { expect grep -aq "'shape': ($2)" "$1"; }
# misuse / fails MESSAGE COMMAND...: one line on standard error, and the exit status
misuse() {
    run "${@:2}"
    expect_status 2
    expect_error_line "jointflow: $1 \(see: jointflow help [a-z]*\)"
    expect_error_line_count 1
}
fails() {
    run "${@:2}"
    expect_status 1
    expect_error_line "jointflow: $1"
    expect_error_line_count 1
}
# A 7 x 7 image of bytes, as NumPy writes it.
write_small() {
    printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (7, 7), }"
    for i in $(seq 0 48); do printf "\\$(printf %o $((i * 5)))"; done
}

case_begin info__tells_the_sizes_of_images
run jointflow info "$COARSE"
expect_line 'images +14 x 14, 1 channel \(superres, from 7 x 7\)'
run jointflow info "$CLASS"
expect_line 'images +28 x 28, 1 channel \(class\)'

case_begin sample__of_classes_gives_25_images_of_each
run jointflow sample "$CLASS" -y ring,square -o a.npy
expect_status 0
expect_npy a.npy '50, 28, 28'
run jointflow sample "$CLASS" -y ring,square,0.5 -o a.png
expect_status 0
expect_line_count 0
expect_error_line_count 0
expect_png a.png
jointflow sample "$CLASS" -y 0,1,0.5 -o b.png
expect_same a.png b.png

case_begin sample__of_images_as_csv_has_x_and_y_as_the_model_knows_them
run jointflow sample "$CLASS" -y square -n 2
expect_status 0
expect_line_count 3
expect_line 'x0,.*,x783,y0,.*,y783'
expect test "$(tail -n 1 "$work/stdout" | cut -d, -f785- | tr , '\n' | sort -u)" = 1

case_begin sample__full_range_changes_the_picture
jointflow sample "$CLASS" -y ring -n 4 -o a.png
jointflow sample "$CLASS" -y ring -n 4 --full-range -o b.png
expect test "$(cmp a.png b.png | wc -l)" -eq 1

case_begin sample__of_degraded_images_has_a_row_for_each
run jointflow sample "$FINE" --row 0,3 -n 3 -o a.png
expect_status 0
expect_png a.png
expect_error_line 'jointflow: note: row 3: a whole image of 28 x 28, degraded to 14 x 14 first'
run jointflow sample "$FINE" --row 0,3 -n 3 -o a.npy
expect_npy a.npy '6, 28, 28'
run jointflow sample "$FINE" -y @a.npy -n 2 -o b.npy
expect_status 0
expect_error_line 'jointflow: note: a.npy: a whole image of 28 x 28, degraded to 14 x 14 first'
expect_npy b.npy '12, 28, 28'

case_begin sample__takes_the_degraded_image_itself
jointflow sample "$COARSE" --row 0 -n 1 -o small.npy 2> note
expect grep -q 'a whole image of 14 x 14, degraded to 7 x 7 first' note
run jointflow sample "$FINE" -y @small.npy -n 2 -o a.png # 14 x 14
expect_status 0
expect_error_line_count 0
expect_png a.png

case_begin sample__size_of_blurred_images_does_not_tell_whether_they_are
jointflow sample "$CLASS" -y ring -n 1 -o whole.npy
run jointflow sample "$BLUR" -y @whole.npy -n 2 -o a.npy
expect_status 0
expect_error_line_count 0
run jointflow sample "$BLUR" -y @whole.npy --degrade -n 2 -o b.npy
expect_status 0
expect_error_line 'jointflow: note: whole.npy: a whole image of 28 x 28, degraded first'
expect test "$(cmp a.npy b.npy | wc -l)" -eq 1

case_begin sample__refuses_what_images_cannot_be
misuse 'sample: -y is missing: this model answers to images of 14 x 14 \(superres\); .* or of a whole one of 28 x 28' \
    jointflow sample "$FINE" -o a.png
misuse 'sample: -y: found "0.5", but this model answers to images \(superres, 14 x 14\): expected @FILE.*' \
    jointflow sample "$FINE" -y 0.5
misuse 'sample: -y: found "boot", expected a number, a range FROM:TO:STEP, or one of ring, square' \
    jointflow sample "$CLASS" -y boot
misuse 'sample: --with-z: "a.png" will hold images, expected a table \(.csv\)' \
    jointflow sample "$CLASS" -y ring --with-z -o a.png
misuse 'sample: --standardised: "a.npy" will hold images, .*' jointflow sample "$CLASS" -y 0 --standardised -o a.npy
misuse 'sample: --row: the conditions of this model are not images, expected -y' \
    jointflow sample "$CLASS" --row 3 -o a.png
misuse 'sample: --row: found "x", expected whole numbers from 0 on: 3,8' jointflow sample "$FINE" --row x -o a.png
misuse 'sample: --full-range is for models of images, .*' jointflow sample "$VECTORS" -y 0 --full-range
fails 'row 2000: the data have 2000 rows held out, counted from 0' jointflow sample "$FINE" --row 2000 -o a.png
jointflow sample "$COARSE" --row 0 -n 1 -o small.npy 2> /dev/null
fails 'small.npy: an image of 14 x 14 and 1 channel\(s\), expected one to degrade of 28 x 28 and 1' \
    jointflow sample "$FINE" -y @small.npy --degrade -o a.png
fails 'missing.png: .*' jointflow sample "$FINE" -y @missing.png -o a.png
printf 'no picture' > broken.png
fails 'broken.png: .*' jointflow sample "$FINE" -y @broken.png -o a.png
expect_no_file a.png

case_begin superres__shows_all_steps_and_tells_how_well_they_fit
run jointflow superres "$COARSE" "$FINE" --row 4 --coarse 3 --fine 2 -o a.png
expect_status 0
expect_png a.png
expect_line 'input +28 x 28, degraded to 7 x 7'
expect_line 'coarse +3 of 14 x 14; degraded again -?[0-9.]+ dB PSNR to the input'
expect_line 'fine +6 of 28 x 28; degraded again -?[0-9.]+ dB PSNR to the input'
expect_line "y error +[0-9.e+-]+, mean \\|y_back - y\\|, model's units"
jointflow superres "$FINE" "$COARSE" --row 4 --coarse 3 --fine 2 -o b.png > /dev/null # the order does not matter
expect_same a.png b.png
jointflow superres "$FINE" "$COARSE" --row 4 --coarse 3 --fine 2 --seed 1 -o c.png > /dev/null
expect test "$(cmp a.png c.png | wc -l)" -eq 1

case_begin superres__writes_the_fine_images_as_numpy
run jointflow superres "$COARSE" "$FINE" --row 4 --data training --coarse 3 --fine 2 -o a.npy
expect_status 0
expect_npy a.npy '3, 2, 28, 28'
jointflow superres "$COARSE" "$FINE" --row 4 --coarse 1 --fine 1 -o one.npy > /dev/null
run jointflow superres "$COARSE" "$FINE" --input one.npy --coarse 2 --fine 1 -o b.png # a whole image of 28 x 28
expect_status 0
expect_line 'input +28 x 28, degraded to 7 x 7'

case_begin superres__starts_from_the_small_image_itself
write_small > small.npy
run jointflow superres "$COARSE" "$FINE" --input small.npy --coarse 2 --fine 2 --full-range -o a.png
expect_status 0
expect_png a.png
expect_line 'input +7 x 7'

case_begin superres__takes_a_pair_by_name_and_the_image_as_an_argument
mkdir -p models/pair
cp "$COARSE/model.safetensors" models/pair/7-14.safetensors
cp "$FINE/model.safetensors" models/pair/14-28.safetensors
jointflow superres "$COARSE" "$FINE" --row 4 --coarse 1 --fine 1 -o one.npy > /dev/null
run jointflow superres pair one.npy --coarse 2 --fine 2
expect_status 0
expect_line 'written   one-large.png'
expect_file one-large.png
jointflow superres "$COARSE" "$FINE" -i one.npy --coarse 2 --fine 2 -o same.png > /dev/null
expect_same one-large.png same.png

case_begin superres__refuses_models_and_images_that_do_not_fit
misuse 'superres: the image to start from is missing \(or --row, one of the data\)' \
    jointflow superres "$COARSE" "$FINE" -o a.png
misuse 'superres: an image and --row: expected one of the two' \
    jointflow superres "$COARSE" "$FINE" --row 0 -i x.png -o a.png
misuse 'superres: -o: found "a.csv", expected .* .png .npy' jointflow superres "$COARSE" "$FINE" --row 0 -o a.csv
misuse 'superres: --data: found "test", expected held or training' \
    jointflow superres "$COARSE" "$FINE" --row 0 --data test -o a.png
misuse 'superres: --data is for --row' jointflow superres "$COARSE" "$FINE" -i x.png --data held -o a.png
misuse 'superres: --row is for one image, not for --all or --test' jointflow superres "$COARSE" "$FINE" --all --row 3
misuse 'superres: --test-labels, --most and --json are for --all and --test' jointflow superres "$COARSE" "$FINE" --row 3 --json
misuse 'superres: unexpected argument "y.png"' jointflow superres "$COARSE" "$FINE" x.png y.png
misuse 'superres: x.png and --input: expected one of the two' jointflow superres "$COARSE" "$FINE" x.png -i y.png
fails 'the models do not follow each other: one makes 28 x 28 of 14 x 14 .*, the other 28 x 28 of 14 x 14 .*' \
    jointflow superres "$FINE" "$FINE" --row 0 -o a.png
fails 'the second model \(glyphs.ini\) is of the task "class", expected one that makes images larger, such as "superres"' \
    jointflow superres "$FINE" "$CLASS" --row 0 -o a.png
fails 'the first model \(tiny.ini\) is of vectors, expected one of super-resolution' \
    jointflow superres "$VECTORS" "$FINE" --row 0 -o a.png
jointflow sample "$COARSE" --row 0 -n 1 -o middle.npy 2> /dev/null
fails 'an image of 14 x 14, expected an input of 7 x 7, or a whole image of 28 x 28 to degrade' \
    jointflow superres "$COARSE" "$FINE" -i middle.npy -o a.png
jointflow sample "$CLASS" -y ring -n 2 -o two.npy
fails '2 images to start from, expected one' jointflow superres "$COARSE" "$FINE" -i two.npy -o a.png
expect_no_file a.png

case_begin sample__then_makes_images_larger_by_other_models
mkdir "$work/pair"
cp "$COARSE/model.safetensors" "$work/pair/7-14.safetensors"
cp "$FINE/model.safetensors" "$work/pair/14-28.safetensors"
grep -v 'kernels\|cardinality\|residual\|norm' "$TINY" > small.ini
train small.ini "$work/small" --set model.net=dense --set model.condition=fixed --set model.depth=1 --set model.width=4 \
    --set data.down=2 --set data.one_hot=yes --set data.then=pair
cp -r "$work/pair" "$work/small/pair" # below its folder: what a model file names is taken from there alone
run jointflow sample "$work/small" -n 2 -o a.npy
expect_status 0
expect_npy a.npy '4, 28, 28'
run jointflow sample "$work/small" -n 2 --then none -o b.npy
expect_npy b.npy '4, 7, 7'
run jointflow sample "$work/small" -n 2 --then "$COARSE" -o c.npy
expect_npy c.npy '4, 14, 14'
jointflow sample "$work/small" -n 2 --then "$FINE,$COARSE" -o d.npy
expect_same a.npy d.npy
run jointflow sample "$work/small" -y square -n 3 -o a.png
expect_png a.png
run jointflow sample "$work/small" -y square -n 1
expect_line 'x0,.*,x48,y0,.*,y97'
misuse 'sample: --then makes images larger, expected a model of images and -o FILE.png or FILE.npy' \
    jointflow sample "$work/small" -n 1 --then pair
fails '.*nowhere.*' jointflow sample "$work/small" -n 1 --then nowhere -o e.npy
fails 'the models make images of 14 x 14 \(1 channel\) larger, expected one that starts from 7 x 7 .*' jointflow sample "$work/small" -n 1 --then "$FINE" -o e.npy
expect_no_file e.npy

case_begin interpolate__then_makes_the_images_of_lines_larger
run jointflow interpolate "$work/small" --along z -y ring,square --lines 2 --steps 3 -o a.npy
expect_status 0
expect_npy a.npy '4, 3, 28, 28'
run jointflow interpolate "$work/small" --along z -y ring,square --lines 2 --steps 3 --then none -o b.npy
expect_npy b.npy '4, 3, 7, 7'
run jointflow interpolate "$work/small" --along y --lines 1 -o a.png
expect_status 0
expect_png a.png
misuse 'interpolate: --then makes images larger, expected a model of images and -o FILE.png or FILE.npy' \
    jointflow interpolate "$work/small" --along y --then none -o a.csv

case_begin density__of_a_model_of_halved_images_is_that_of_the_small_image
jointflow sample "$CLASS" -y ring -n 2 -o whole.npy
run jointflow density "$work/small" whole.npy -y ring
expect_status 0
expect_line "# of images of 7 x 7, before pair makes them larger"
expect_line '# rows                          2'
run jointflow info "$work/small"
expect_line "then        pair makes them larger; densities are of 7 x 7"

case_begin pack__the_card_tells_the_size_that_images_end_in
run jointflow pack "$work/small" -o small.safetensors --points 20
expect_status 0
run cat small.md
expect_line "Images of 7 x 7 given one of 2 classes \(.*\), trained on glyphs; pair makes them 28 x 28\."

case_begin export__leaves_out_what_makes_images_larger_and_says_so
run jointflow export "$work/small" -o a.c
expect_status 0
expect_error_line "jointflow: warning: a.c: it draws images of 7 x 7, as the model does; what makes them larger \\(data.then = pair\\) is not part of it, .*"

case_begin figure__images_by_class_are_made_larger
run jointflow figure 5 --model "$work/small" -o figures
expect_status 0
expect_png figures/figure-5a.png
expect_png figures/figure-5c.png
run jointflow figure A.3 --model "$work/small" -o figures
expect_status 0
expect_png figures/figure-A3.png

case_begin train__a_report_without_the_models_that_make_images_larger_says_so
grep -v 'kernels\|cardinality\|residual\|norm' "$TINY" > small.ini
run jointflow train small.ini -o run --set model.net=dense --set model.condition=fixed --set model.depth=1 \
    --set model.width=4 --set data.down=2 --set data.then=nowhere
expect_status 0
expect_error_line 'jointflow: warning: data.then = nowhere, which makes the images of the model larger: .*; images are judged and drawn as they are'
expect_file run/report.html
fails 'data.then = nowhere, which makes .*' jointflow sample run -n 1 -o a.png

case_begin judge__then_is_of_the_larger_images
run jointflow judge "$work/small" --points 20 --inputs 10 --json
expect_status 0
expect_line '.*"enlarged_height": 28,.*'
run jointflow judge "$work/small" --points 20 --inputs 10 --then none
expect_status 0
expect_line ' *1 sample for each of 10 held-out images'
fails 'models that make what is drawn larger are for models of images of a class, .*' \
    jointflow judge "$COARSE" --points 20 --inputs 10 --then "$FINE"

case_begin interpolate__along_z_follows_each_line_at_each_condition
run jointflow interpolate "$CLASS" --along z -y ring,square --lines 2 --steps 4 -o a.npy
expect_status 0
expect_npy a.npy '4, 4, 28, 28'
run jointflow interpolate "$CLASS" --along z -y ring,square --lines 2 --steps 4 -o a.png
expect_status 0
expect_png a.png

case_begin interpolate__along_y_meets_the_classes
run jointflow interpolate "$CLASS" --along y --lines 2 -o a.npy
expect_status 0
expect_npy a.npy '2, 9, 28, 28'
run jointflow interpolate "$CLASS" --along y --lines 1
expect_line_count 10
tail -n +2 "$work/stdout" | cut -d, -f2,787 > steps
expect grep -qx '0,-0.5' steps
expect grep -qx '2,0' steps
expect grep -qx '6,1' steps
expect grep -qx '8,1.5' steps
run jointflow interpolate "$CLASS" --along y --from ring --to square --steps 3 --full-range -o b.png
expect_status 0
expect_png b.png
jointflow sample "$CLASS" -y ring -n 2 -o ends.npy
run jointflow interpolate "$BLUR" --along y --from @ends.npy --to @ends.npy -o c.png
expect_status 2
jointflow sample "$CLASS" -y ring -n 1 -o from.npy
jointflow sample "$CLASS" -y square -n 1 -o to.npy
run jointflow interpolate "$BLUR" --along y --from @from.npy --to @to.npy -o c.png
expect_status 0
expect_png c.png

case_begin interpolate__writes_tables_of_vector_models
run jointflow interpolate "$VECTORS" --along y --lines 2 --steps 3
expect_status 0
expect_line 'line,step,x0,x1,y0,z0,z1'
expect_line_count 7
run jointflow interpolate "$VECTORS" --along z -y 0 --lines 1 --steps 5 -o a.npy
expect_status 0
expect_npy a.npy '5, 7'

case_begin interpolate__refuses_lines_that_are_none
misuse 'interpolate: --along is missing: z or y' jointflow interpolate "$CLASS" -o a.png
misuse 'interpolate: --along: found "x", expected z or y' jointflow interpolate "$CLASS" --along x -o a.png
misuse 'interpolate: -y is for --along z; .*' jointflow interpolate "$CLASS" --along y -y ring -o a.png
misuse 'interpolate: --from and --to are for --along y; .*' \
    jointflow interpolate "$CLASS" --along z --from 0 -y ring -o a.png
misuse 'interpolate: -y is missing: .*' jointflow interpolate "$CLASS" --along z -o a.png
misuse 'interpolate: --from and --to are needed: the condition of this model is not a class' \
    jointflow interpolate "$FINE" --along y -o a.png
misuse 'interpolate: --from: found "boot", expected a number, .*' \
    jointflow interpolate "$CLASS" --along y --from boot -o a.png
misuse 'interpolate: --from: 2 conditions, expected one' jointflow interpolate "$CLASS" --along y --from 0,1 -o a.png
misuse 'interpolate: --steps: found "1", expected .*' jointflow interpolate "$CLASS" --along y --steps 1 -o a.png
misuse 'interpolate: -o: found "a.png", but this model is of vectors, expected .csv or .npy' \
    jointflow interpolate "$VECTORS" --along y -o a.png
expect_no_file a.png

case_begin figure__of_images_wants_models_of_its_task
run jointflow figure 6 --model "$FINE" --model "$COARSE" -o folder
expect_status 0
expect_png folder/figure-6-1.png
expect grep -q '^ring,' folder/figure-6.csv
run jointflow figure 5 --model "$FINE" -o folder
expect_status 1
expect_error_line 'jointflow: .*fine: not a model for this figure, which shows images and the task "class"'

case_begin sample__denoise_moves_samples_by_a_little_and_keeps_what_they_were_drawn_for
run jointflow sample "$CLASS" -y ring,square -n 2 --with-z
cp "$work/stdout" noisy.csv
run jointflow sample "$CLASS" -y ring,square -n 2 --with-z --denoise
expect_status 0
expect_error_line_count 0
expect_line_count 5
expect test "$(cmp "$work/stdout" noisy.csv | wc -l)" -eq 1
expect test "$(cut -d, -f785- "$work/stdout")" = "$(cut -d, -f785- noisy.csv)"
run jointflow sample "$CLASS" -y ring --denoise -o clean.png
expect_status 0
expect_png clean.png

case_begin superres__denoise_tells_another_psnr
run jointflow superres "$COARSE" "$FINE" --row 0 --coarse 2 --fine 2 -o a.npy
cp "$work/stdout" noisy
run jointflow superres "$COARSE" "$FINE" --row 0 --coarse 2 --fine 2 --denoise -o b.npy
expect_status 0
expect_npy b.npy '2, 2, 28, 28'
expect test "$(cmp a.npy b.npy | wc -l)" -eq 1

case_begin denoise__of_a_model_without_noise_is_refused
fails '.*was trained with train.noise = 0.*' jointflow sample "$VECTORS" -y 0 -n 2 --denoise
fails '.*was trained with train.noise = 0.*' jointflow judge "$VECTORS" --points 10 --denoise

case_begin judge__denoise_adds_what_samples_are_without_noise
run jointflow judge "$FINE" --points 20 --inputs 3 --denoise
expect_status 0
expect_line '  39 samples for each of 3 held-out images'
expect_line '  39 samples for each of 3 held-out images, without the noise of training'
run jointflow judge "$FINE" --points 20 --inputs 3 --denoise --json
expect_line '.*"image_denoised": \{"inputs": 3.*'

case_begin encode__of_an_image_decodes_to_that_image
jointflow sample "$FINE" --row 2 -n 1 -o whole.npy 2> note
run jointflow encode "$FINE" whole.npy -o z.csv
expect_status 0
expect test "$(wc -l < z.csv)" -eq 2
expect grep -q '^z0,.*,z783,y_out0,.*,y_out783$' z.csv
run jointflow encode "$CLASS" whole.npy -y ring -o c.csv
expect_status 0
tail -n 1 c.csv | cut -d, -f785- | tr , '\n' | awk '$1 > 0.5 || $1 < -0.5 { bad++ } END { exit bad > 0 }' && near=1 || near=0
expect test "$near" -eq 1

case_begin density__of_images_needs_a_condition_only_where_none_follows_from_them
jointflow sample "$FINE" --row 2 -n 1 -o whole.npy 2> note
run jointflow density "$FINE" whole.npy
expect_status 0
expect_line '# rows +1'
expect_line '# mean \|y. - y\|, model.s units +.*'
run jointflow density "$CLASS" whole.npy -y ring
expect_status 0
misuse 'density: -y is missing: this model needs a condition of 1 number, or one of ring, square' jointflow density "$CLASS" whole.npy
misuse 'density: -y: 2 conditions for 1 image, expected one for all, or one for each' jointflow density "$CLASS" whole.npy -y ring,square
misuse 'density: --standardised: found images \(whole.npy\), whose units are the data.s, expected a table' jointflow density "$FINE" whole.npy --standardised
jointflow sample "$CLASS" -y ring -n 1 > rows.csv
misuse 'density: -y: found "rows.csv", a table, which has the columns of y; -y is for images' jointflow density "$CLASS" rows.csv -y ring
run jointflow density "$CLASS" rows.csv
expect_status 0
head -c 128 whole.npy | sed 's/1, 28, 28/4, 14, 14/' > parts.npy && tail -c +129 whole.npy >> parts.npy
run jointflow density "$COARSE" parts.npy
expect_line '# rows +4'
fails '.*an image of 14 x 14 and 1 channel\(s\), expected a whole one of 28 x 28 and 1' jointflow density "$CLASS" parts.npy -y ring

case_begin interpolate__goes_from_a_given_image_to_another_and_changes_the_class_of_one
jointflow sample "$FINE" --row 2 -n 1 -o whole.npy 2> note
jointflow sample "$CLASS" -y ring -n 2 -o two.npy
run jointflow interpolate "$CLASS" --along z --image two.npy --image-y ring,square -o line.npy --steps 4
expect_status 0
expect_npy line.npy '1, 4, 28, 28'
run jointflow interpolate "$CLASS" --along z --image two.npy --image-y ring -y ring,square,0.5 -o line.png
expect_status 0
expect_png line.png
run jointflow interpolate "$CLASS" --along y --image two.npy --image-y ring --to square --steps 3 -o line.npy
expect_status 0
expect_npy line.npy '2, 3, 28, 28'
run jointflow interpolate "$FINE" --along z --image whole.npy --image whole.npy --steps 3 -o line.npy
expect_status 0
misuse 'interpolate: --image: 1 image along z, expected two for each line' jointflow interpolate "$FINE" --along z --image whole.npy
misuse 'interpolate: --to is missing: the condition that the images go to' jointflow interpolate "$CLASS" --along y --image two.npy --image-y ring
misuse 'interpolate: --image-y is for --image' jointflow interpolate "$CLASS" --along y --image-y ring --to square
misuse 'interpolate: --lines is for latent points that are drawn, not for --image' jointflow interpolate "$CLASS" --along y --image two.npy --image-y ring --to square --lines 3

case_begin judge__and_report_take_a_separate_test_file
jointflow sample "$FINE" --row 0,1,2 -n 2 -o test.npy 2> note
run jointflow judge "$FINE" --test test.npy --inputs 2 --json
expect_status 0
expect_line '.*"points": 6,.* "unseen": true.*'
run jointflow report "$FINE" --test test.npy --inputs 2 -o page
expect_status 0
expect test -s page/report.html
fails '.*test-none.*' jointflow judge "$FINE" --test test-none
fails '.*whose points are drawn.*' jointflow judge "$VECTORS" --test test.npy

case_begin superres__takes_one_model_or_three
run jointflow superres "$FINE" --row 4 --coarse 3 -o a.png
expect_status 0
expect_line 'step 1 +3 of 28 x 28; degraded again -?[0-9.]+ dB PSNR to the input'
expect_png a.png
run jointflow superres "$FINE" --row 4 --coarse 3 -o a.npy
expect_npy a.npy '1, 3, 28, 28'

case_begin superres__over_all_images_tells_each_class
run jointflow superres "$COARSE" "$FINE" --all --most 70
expect_status 0
expect_line 'class +images +step 1, dB +step 2, dB'
expect_line 'all +70 +-?[0-9.]+ +-?[0-9.]+'
expect_line 'ring +[0-9]+ +-?[0-9.]+ +-?[0-9.]+'
run jointflow superres "$COARSE" "$FINE" --all --most 70 --denoise --json
expect_line '\{"images": 70, "psnr": \[-?[0-9.]+, -?[0-9.]+\], "classes": \[\{"name": "[a-z]+", .*\}\], "y_error": [0-9.e+-]+\}'
jointflow sample "$FINE" --row 0,1 -n 2 -o test.npy 2> note
run jointflow superres "$COARSE" "$FINE" --test test.npy
expect_line 'all +4 +-?[0-9.]+ +-?[0-9.]+'
expect_line_count 3

case_begin sample__of_a_model_with_a_mask_takes_whole_images_and_masked_ones
train "$TINY" hole --set data.task=occlusion --set data.mask=yes --set data.classes=all
run jointflow info hole
expect_line 'images +28 x 28, 1 channel \(occlusion, from 28 x 28 in 2 channels\)'
run jointflow sample hole --row 0,3 -n 2 -o a.png
expect_status 0
expect_png a.png
{ printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (28, 28, 2), }"; head -c 1568 /dev/zero; } > masked.npy
run jointflow sample hole -y @masked.npy -n 3 -o b.npy
expect_status 0
expect_error_line_count 0
expect_npy b.npy '3, 28, 28'
run jointflow sample hole -y @b.npy -n 1 -o c.npy
expect_error_line 'jointflow: note: b.npy: a whole image of 28 x 28, degraded first'
run jointflow report hole --points 20 --inputs 2
expect_status 0

case_begin sample__sharpens_what_moved
train "$TINY" moved --set data.task=motion --set data.length=3 --set data.angle=30 --set data.classes=all
run jointflow sample moved --row 0 -n 2 -o a.npy
expect_status 0
expect_npy a.npy '2, 28, 28'
