# What several ranks answer with a model is what one process does: the same bytes, written by the first.
. "$(dirname "$0")/lib.sh"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset OMPI_COMM_WORLD_SIZE PMI_SIZE SLURM_STEP_NUM_TASKS

# together N COMMAND...: on the loopback interface, without binding: the machine may have fewer processors.
together() {
    local n=$1
    shift
    run timeout 120 mpirun -n "$n" --oversubscribe --bind-to none --mca btl self,tcp --mca btl_tcp_if_include lo \
        --mca mpi_yield_when_idle 1 "$@"
}

keep() { [ -n "$case_skip" ] || cp "$work/stdout" "$1"; }

why=""
command -v mpirun > /dev/null || why="there is no mpirun (openmpi-bin)"
[ -e "$BUILD/libjointflow-mpi.so" ] || why="built without MPI (libopenmpi-dev)"
[ -z "$SANITIZE" ] || why="Open MPI leaks by itself"

models=$work/models
mkdir "$models"
if [ -z "$why" ]; then
    jointflow train "$ROOT/tests/cli/tiny.ini" -o "$models/vectors" --no-report -q --threads 1 || why="no model could be trained"
    jointflow train "$ROOT/tests/cli/glyphs.ini" -o "$models/class" --no-report -q --threads 1 || why="no model could be trained"
    for down in 0 1; do
        jointflow train "$ROOT/tests/cli/glyphs.ini" -o "$models/sr-$down" --no-report -q --threads 1 --set data.task=superres \
            --set data.down=$down || why="no model could be trained"
    done
    jointflow sample "$models/vectors" -n 1300 -o "$models/points.csv" || why="no points could be drawn"
fi

case_begin ranks_use__tables_of_samples_and_densities_have_the_same_bytes
[ -z "$why" ] || skip "$why"
for n in 2 3; do
    run jointflow sample "$models/vectors" -n 1201 --with-z --with-y-back -o one.csv
    together $n jointflow sample "$models/vectors" -n 1201 --with-z --with-y-back -o all.csv
    expect_status 0
    expect_same one.csv all.csv
    run jointflow density "$models/vectors" "$models/points.csv" -o one.npy
    keep one.txt
    together $n jointflow density "$models/vectors" "$models/points.csv" -o all.npy
    expect_status 0
    expect_same one.npy all.npy
    expect_same one.txt "$work/stdout"
    run jointflow encode "$models/vectors" "$models/points.csv" -o one-z.csv
    together $n jointflow encode "$models/vectors" "$models/points.csv" -o all-z.csv
    expect_status 0
    expect_same one-z.csv all-z.csv
done

case_begin ranks_use__a_table_on_standard_output_comes_once
[ -z "$why" ] || skip "$why"
run jointflow sample "$models/vectors" -y 0 -n 7
keep one.txt
together 2 jointflow sample "$models/vectors" -y 0 -n 7
expect_status 0
expect_same one.txt "$work/stdout"

case_begin ranks_use__images_have_the_same_bytes
[ -z "$why" ] || skip "$why"
for file in images.npy images.png; do
    run jointflow sample "$models/class" -y ring,square -n 5 --denoise -o "one-$file"
    together 2 jointflow sample "$models/class" -y ring,square -n 5 --denoise -o "all-$file"
    expect_status 0
    expect_same "one-$file" "all-$file"
    run jointflow superres "$models/sr-1" "$models/sr-0" --row 1 --coarse 3 --fine 2 -o "one-large-$file"
    together 2 jointflow superres "$models/sr-1" "$models/sr-0" --row 1 --coarse 3 --fine 2 -o "all-large-$file"
    expect_status 0
    expect_same "one-large-$file" "all-large-$file"
done
run jointflow superres "$models/sr-1" "$models/sr-0" --all --most 9 --json
keep one.txt
together 2 jointflow superres "$models/sr-1" "$models/sr-0" --all --most 9 --json
expect_status 0
expect_same one.txt "$work/stdout"

case_begin ranks_use__judgement_and_report_have_the_same_bytes
[ -z "$why" ] || skip "$why"
for model in vectors class; do
    run jointflow judge "$models/$model" --points 1100 --json
    keep one.json
    together 2 jointflow judge "$models/$model" --points 1100 --json
    expect_status 0
    expect_same one.json "$work/stdout"
    run jointflow report "$models/$model" --points 300 -o report # which tells its own name
    [ -n "$case_skip" ] || mv report "one-$model"
    together 2 jointflow report "$models/$model" --points 300 -o report
    expect_status 0
    [ -n "$case_skip" ] || mv report "all-$model"
    [ "$(ls "one-$model")" = "$(ls "all-$model")" ] || case_fail "the reports hold other files"
    for file in "one-$model"/*; do expect_same "$file" "all-$model/${file##*/}"; done
done

case_begin ranks_use__a_simulator_is_asked_once
[ -z "$why" ] || skip "$why"
cat > simulate << 'END'
#!/bin/sh
echo asked >> asked
awk -F, '{ print $1 }'
END
chmod +x simulate
together 2 jointflow judge "$models/vectors" --points 300 --simulator ./simulate --json
expect_status 0
[ -n "$case_skip" ] || [ "$(wc -l < asked)" = 2 ] || case_fail "it was asked $(wc -l < asked) times, expected 2"

case_begin ranks_use__what_one_rank_cannot_do_is_told_once
[ -z "$why" ] || skip "$why"
together 2 jointflow sample missing-model -o x.csv
expect_failure
[ "$(grep -c 'jointflow: .*missing-model' "$work/stderr")" = 1 ] || [ -n "$case_skip" ] || case_fail "the failure is told more than once, or not at all"
printf 'x0,x1,y0\n0,0,0\n1e60,0,0\n' > far.csv
together 2 jointflow density "$models/vectors" far.csv -o x.csv
expect_failure
expect_no_file x.csv

case_begin ranks_use__another_model_on_a_rank_is_refused
[ -z "$why" ] || skip "$why"
together 1 jointflow sample "$models/vectors" -n 3 -o x.csv : -n 1 jointflow sample "$models/class" -n 3 -o x.csv
expect_failure
expect_error_line 'jointflow: .*another model \(checksum of its weights\) than rank 0.*'
