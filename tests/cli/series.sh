# Conditions that are series or images: arrays of y with three or four axes, and the embedding that they get.
. "$(dirname "$0")/lib.sh"
ROWS=300
jointflow data export oscillator -n $ROWS --x "$work/x.npy" --y "$work/flat.npy" --seed 1 || exit 1
# The same numbers under other sizes: the header is padded with spaces, so it keeps its length.
shaped() { # SIZES LONGER-BY FILE
    local spaces; spaces=$(printf '%*s' "$2" '')
    sed "s/($ROWS, 128), }$spaces/($ROWS, $1), }/" "$work/flat.npy" > "$3"
}
shaped '64, 2' 2 "$work/y.npy"
shaped '16, 8' 2 "$work/image.npy"
shaped '8, 8, 2' 4 "$work/colours.npy"
shaped '2, 64' 2 "$work/turned.npy"
shaped '2, 2, 2, 16' 8 "$work/five.npy"
QUICK="--no-report --set train.epochs=2 --set model.blocks=1 --set model.width=8 --set model.embed_channels=4"

case_begin train__an_array_of_three_axes_is_a_series_and_gets_convolutions
run jointflow train --x "$work/x.npy" --y "$work/y.npy" -o run $QUICK
expect_status 0
expect_line 'y is of 64x2 numbers: model.embed = conv1d, unless another is chosen'
expect grep -qx 'embed_shape = 64x2' run/recipe.ini
run jointflow info run
expect_line 'embedding   conv1d, 64x2 numbers to 16, 2 convolutions, 2 dense layers'
run jointflow train --x "$work/x.npy" --y "$work/y.npy" -o run $QUICK --resume
expect_status 0

case_begin train__sizes_of_y_tell_series_from_images
for kind in image colours; do
    run jointflow train --x "$work/x.npy" --y "$work/$kind.npy" -o $kind --quiet $QUICK
    expect_status 0
    expect grep -qx 'embed = conv2d' $kind/recipe.ini
done
expect grep -qx 'embed_shape = 8x8x2' colours/recipe.ini

case_begin train__another_embedding_or_none_can_be_chosen
for kind in none dense conv2d; do
    settings=$([ $kind = conv2d ] && echo "$QUICK" || echo "${QUICK% --set *}")
    run jointflow train --x "$work/x.npy" --y "$work/image.npy" -o $kind --quiet $settings --set model.embed=$kind
    expect_status 0
done
run jointflow info none
expect_no_line 'embedding.*'
run jointflow info dense
expect_line 'embedding   dense, 16x8 numbers to 16, 3 dense layers'

jointflow train --x "$work/x.npy" --y "$work/y.npy" -o "$work/run" --quiet $QUICK || exit 1
RUN="$work/run"

case_begin use__every_command_takes_y_with_its_axes_or_as_columns
for kind in y flat; do
    jointflow sample "$RUN" -y "@$work/$kind.npy" -n 1 -o $kind.csv 2> warnings
    jointflow density "$RUN" "$work/x.npy" -y "$work/$kind.npy" -o $kind-density.csv > said 2>&1
    jointflow encode "$RUN" "$work/x.npy" -y "$work/$kind.npy" -o $kind-z.csv 2> warnings
done
expect_file y.csv
expect_file y-density.csv
expect_file y-z.csv
expect_same y.csv flat.csv
expect_same y-density.csv flat-density.csv
expect_same y-z.csv flat-z.csv
run jointflow judge "$RUN" --test "$work/x.npy" --test-labels "$work/y.npy"
expect_status 0
expect_line '  nll .*'

case_begin use__y_of_other_sizes_is_refused_with_both
run jointflow sample "$RUN" -y "@$work/turned.npy" -n 1
expect_status 1
expect_error_line '.*turned.npy: each y is of 2x64 numbers, expected 64x2, as the model.s embedding takes them'
run jointflow judge "$RUN" --test "$work/x.npy" --test-labels "$work/turned.npy"
expect_status 1
expect_error_line '.*model.embed_shape: found "64x2", expected 2x64, the sizes of y in .*turned.npy'
run jointflow sample "$RUN" -y "@$work/x.npy" -n 1
expect_status 1
expect_error_line '.*x.npy: found 3 columns, expected 128 of y'

case_begin use__a_series_beyond_the_training_data_is_answered_with_a_warning
run jointflow sample "$RUN" -n 1 -y "$(awk 'BEGIN { for (i = 0; i < 128; i++) printf "%s%d", i ? "," : "", 50 }')"
expect_status 0
expect grep -q 'warning: .*beyond' "$work/stderr"

case_begin train__what_has_no_embedding_says_why
run jointflow train --x "$work/x.npy" --y "$work/y.npy" -o joint $QUICK --set model.condition=joint
expect_status 1
expect_error_line '.*model.embed: found conv1d with model.condition = joint, expected fixed: .*'
run jointflow train --x "$work/y.npy" --y "$work/x.npy" -o turned $QUICK
expect_status 1
expect_error_line '.*y.npy: the array has 3 dimensions, expected 2 \(rows, columns\)'
run jointflow train --x "$work/x.npy" --y "$work/five.npy" -o five $QUICK
expect_status 1
expect_error_line '.*five.npy: the array has 5 dimensions, expected 2 .*'
run jointflow train --x "$work/x.npy" --y "$work/y.npy" -o long $QUICK --set model.embed_layers=6
expect_status 1
expect_error_line '.*found a y of 64 steps, expected at least 253 for 6 convolutions of 5 with a stride of 2: .*'

case_begin train__a_recipe_with_the_oscillator_and_an_embedding
cat > osc.ini <<'END'
[data]
set = oscillator
[model]
condition = fixed
embed = conv1d
embed_channels = 4
blocks = 1
depth = 1
width = 8
[train]
epochs = 1
batches = 5
precondition = 0
anneal = 0
END
run jointflow train osc.ini -o run --no-report
expect_status 0
run jointflow data posterior oscillator --y "$work/flat.npy" -n 1 -o exact.csv
expect_status 0
expect_file exact.csv
run jointflow compare exact.csv "$work/x.npy" --columns 3
expect_status 0

case_begin export__a_model_with_an_embedding_is_refused_and_nothing_is_written
for file in m.c m.onnx; do
    run jointflow export "$RUN" -o $file
    expect_status 1
    expect_error_line '.*files cannot hold the embedding "conv1d" of this model; .*'
    expect_no_file $file
done
