# Models as files for other programs, beside what the command line answers.
. "$(dirname "$0")/lib.sh"
STRICT="cc -std=c99 -Wall -Wextra -Werror -O1"

# 400 rows: (a, b) depend on c, a class; a is in (0, 1), b above 0.
awk 'BEGIN { srand(1); print "a,b,c"; for (i = 0; i < 400; i++) { c = int(3 * rand());
     printf "%.9g,%.9g,%d\n", (c + rand()) / 3, 0.1 + c * c + rand(), c } }' > "$work/t.csv"

cat > "$work/table.ini" << INI
[data]
set = table
file = $work/t.csv
x = 2
y = 1
discrete = yes
bounds = a=0:1, b=0:
[model]
net = residual
residual = 2
width = 16
blocks = 1
law = spline
transforms = actnorm mixing coupling
condition = fixed
[train]
batch = 50
epochs = 3
precondition = 0
anneal = 1
INI
jointflow train "$work/table.ini" -o "$work/table" --no-report --quiet || exit 1
jointflow train "$ROOT/tests/cli/glyphs.ini" -o "$work/image" --no-report --quiet --set model.squeeze=1 --set model.blocks=2 || exit 1

# same A B TOLERANCE: two tables of numbers agree, without their names; relative to numbers beyond 1.
same() {
    paste -d'|' <(grep -v '[a-df-z]' "$1") <(grep -v '[a-df-z]' "$2") | awk -F'|' -v t="$3" '
        { n = split($1, a, ","); if (split($2, b, ",") != n || n == 0) exit 1
          for (i = 1; i <= n; i++) { d = a[i] - b[i]; s = a[i] < 0 ? -a[i] : a[i]; if (s < 1) s = 1
              if (!(d <= t * s && -d <= t * s)) { print NR, a[i], b[i]; exit 1 } } }
        END { if (NR == 0) exit 1 }'
}

# compare_c MODEL Y N TOLERANCE DENSITY: an exported model, compiled, gives the samples, encodings and densities of the command
# line: to 1e-5 those in double, and to the tolerance those of the default device, which rounds to floats.
compare_c() {
    local dims device tolerance=1e-5
    run jointflow export "$1" -o answers.c
    expect_status 0
    expect_line 'answers.c'
    run $STRICT -I. "$ROOT/tests/export/driver.c" -o driver -lm
    expect_status 0
    for device in ref cpu; do
        jointflow sample "$1" -y "$2" -n "$3" --seed 7 --device $device -o points.csv
        dims=$(sed -n 's/^#define ANSWERS_DIM_X *//p' answers.c)
        cut -d, -f1-"$dims" points.csv > x.csv
        tail -n +2 points.csv | cut -d, -f"$((dims + 1))"- > y.csv
        ./driver sample 7 < y.csv > x.found
        expect same x.csv x.found $tolerance
        jointflow encode "$1" points.csv --device $device -o z.csv
        ./driver encode < points.csv > z.found
        expect same z.csv z.found $tolerance
        ./driver density < points.csv > p.found
        jointflow density "$1" points.csv --device $device -o p.csv > summary
        # of a joint condition in few dimensions the table has the density by the Jacobian; of the whole map's the mean is told
        if [ "$5" = mean ]; then
            sed -n 's/^  by the whole map *//p' summary > p.csv
            awk '{ s += $1 } END { printf "%.9g\n", s / NR }' p.found > mean && mv mean p.found
        fi
        expect same p.csv p.found $tolerance
        tolerance=$4
    done
}

case_begin export_c__a_toy_answers_as_the_command_line
compare_c crescents 0,1 50 1e-5 mean

case_begin export_c__a_table_with_bounds_and_classes_answers_as_the_command_line
compare_c "$work/table" 0,1,2 30 1e-4 rows

case_begin export_c__an_image_model_answers_as_the_command_line
compare_c "$work/image" ring,square 2 1e-5 rows

case_begin export_c__the_file_may_be_included_for_its_declarations
jointflow export rule-circle -o circle.c --name ring > /dev/null
cat > main.c << 'C'
#define RING_ONLY_DECLARE
#include "circle.c"
#include <stdio.h>
int main(void) {
    ring_real x[RING_DIM_X], work[RING_WORK];
    int failed = ring_sample(1, 0, NULL, x, work);
    printf("%.4f\n", x[0] * x[0] + x[1] * x[1]);
    return failed;
}
C
run $STRICT -DRING_REAL=float main.c circle.c -o main -lm
expect_status 0
run ./main
expect_status 0
expect_line '[01]\.[0-9]{4}'
if command -v c++ > /dev/null; then
    printf '#define RING_ONLY_DECLARE\n#include "circle.c"\nint main() { double z[RING_DIM_X]; ring_latent(1, 0, z); }\n' > main.cpp
    cc -c circle.c
    run c++ -Wall -Wextra -Werror main.cpp circle.o -o main
    expect_status 0
fi

# compare_onnx MODEL Y N DENSITY: the graphs of a model give what the command line gives, to 1e-4; rows: with densities of rows;
# densities: these, and no encodings.
compare_onnx() {
    rows_of "$@"
    run_onnx "$1"
}

# What the command line gives, as tests/export/compare.py wants it.
rows_of() {
    jointflow sample "$1" -y "$2" -n "$3" --seed 7 --with-y-back --with-z -o all.named.csv
    jointflow sample "$1" -y "$2" -n "$3" --seed 7 -o points.named.csv
    jointflow encode "$1" points.named.csv -o encoded.named.csv
    jointflow density "$1" points.named.csv -o log_p.named.csv > summary
    local x y
    x=$(head -n 1 all.named.csv | tr , '\n' | grep -c '^z[0-9]')
    y=$(head -n 1 all.named.csv | tr , '\n' | grep -c '^y_back')
    tail -n +2 all.named.csv > all.csv
    tail -n +2 encoded.named.csv > encoded.csv
    cut -d, -f1-"$x" all.csv > x.csv
    cut -d, -f$((x + 1))-$((x + y)) all.csv > y.csv
    cut -d, -f$((x + y + 1))-$((x + 2 * y)) all.csv > y_back.csv
    cut -d, -f$((x + 2 * y + 1))- all.csv > z.csv
    if [ "$4" != densities ]; then
        cut -d, -f1-"$x" encoded.csv > z_out.csv
        cut -d, -f$((x + 1))- encoded.csv > y_out.csv
    fi
    if [ "$4" != mean ]; then
        tail -n +2 log_p.named.csv > log_p.csv
    else # the density of the whole map is told for all rows together: one at a time
        while read -r row; do
            { head -n 1 points.named.csv; echo "$row"; } > row.csv
            jointflow density "$1" row.csv | sed -n 's/^#   by the whole map *//p'
        done < <(tail -n +2 points.named.csv) > log_p.csv
    fi
}

run_onnx() {
    run jointflow export "$1" -o model.onnx
    expect_status 0
    expect_line 'model.onnx'
    expect_line 'model.density.onnx'
    run "$ROOT/tests/export/onnx" .
    if [ "$status" = 77 ]; then skip "$(tail -n 1 "$work/stdout")"; else expect_status 0; fi
}

case_begin export_onnx__a_toy_answers_as_the_command_line
compare_onnx crescents 0,1 5 mean

case_begin export_onnx__a_table_with_bounds_and_classes_answers_as_the_command_line
compare_onnx "$work/table" 0,1,2 20 rows

case_begin export_onnx__an_image_model_answers_as_the_command_line
compare_onnx "$work/image" ring,square 3 rows

# Encodings are left out: they are hundreds of times as far from each other as the roundings of x.
case_begin export__a_shipped_image_model_samples_and_tells_densities_as_the_command_line
rows_of fashion-class shirt,sneaker 1 densities
jointflow export fashion-class -o answers.c > /dev/null
run $STRICT -I. "$ROOT/tests/export/driver.c" -o driver -lm
expect_status 0
./driver sample 7 < y.csv > x.found
expect same x.csv x.found 1e-5
./driver density < points.named.csv > log_p.found
expect same log_p.csv log_p.found 1e-5
run_onnx fashion-class

# An npm that fetches nothing and says nothing counts as none.
case_begin export_onnx__a_runtime_that_cannot_be_fetched_is_a_skip_with_its_reason
mkdir bin
printf '#!/bin/sh\n' | tee bin/npm > bin/node
chmod +x bin/npm bin/node
run env PATH="$PWD/bin:$PATH" PIP_CONFIG_FILE=/dev/null PIP_NO_INDEX=1 PIP_FIND_LINKS= JOINTFLOW_TEST_VENV="$PWD/python" \
    JOINTFLOW_NODE_MODULES="$PWD/node" "$ROOT/tests/export/onnx" .
expect_status 77
expect_line 'tests/requirements.txt could not be installed: .*onnxruntime.*; npm has no onnxruntime-web either'

case_begin export__the_file_tells_what_stands_for_a_class
jointflow export crescents -o toy.c > /dev/null
expect grep -qx ' \* class 1, lower: y = 1' toy.c
jointflow train "$ROOT/tests/cli/glyphs.ini" -o run --no-report --quiet --set data.one_hot=yes
jointflow export run -o planes.onnx > /dev/null
expect grep -aqx 'class 1, square: y = 1 in channel 1, 0 in the others' planes.onnx

case_begin export__what_cannot_be_written_is_told_in_words
run jointflow export crescents
expect_status 2
expect_error_line '.*-o is missing.*'
run jointflow export crescents -o model.xyz
expect_status 1
expect_error_line '.*model.xyz: no format of exports has this ending; expected \.c .* or \.onnx .*'
run jointflow export crescents -o model.c --name 2go
expect_status 1
expect_error_line '.*found "2go", expected letters, digits and _, and no digit first'
expect_no_file model.c
cp "$ROOT/models/crescents.safetensors" m.c
run jointflow export m.c -o m.c
expect_failure
expect_same m.c "$ROOT/models/crescents.safetensors"
run jointflow export crescents -o no/such/folder/model.c
expect_status 1
expect_error_line '.*no/such/folder/model.c.*'
cp "$ROOT/models/crescents.safetensors" m.density.onnx
run jointflow export crescents -o m.onnx
expect_failure
expect_same m.density.onnx "$ROOT/models/crescents.safetensors"
expect_no_file m.onnx
