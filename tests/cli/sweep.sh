# Many runs of a recipe, and which setting is best.
. "$(dirname "$0")/lib.sh"
TINY="$ROOT/tests/cli/tiny.ini"

case_begin sweep__runs_every_setting_with_every_seed_and_names_the_best
run jointflow sweep "$TINY" --set train.rate=1e-2,1e-5 --set model.width=4,8 --seeds 2 --seed 3 -o s -q --threads 1
expect_status 0
expect test "$(grep -c 'train.rate=1e-[25] model.width=[48]$' "$work/stdout")" -eq 4
expect_line 'best: train.rate=1e-2 model.width=[48], loss .*'
expect test "$(wc -l < s/sweep.csv)" -eq 9
expect test "$(head -n 1 s/sweep.csv)" = "train.rate,model.width,seed,loss,epoch,seconds"
expect test -s s/sweep.png
for folder in s/train.rate=1e-{2,5},model.width={4,8}/seed-{3,4}; do expect test -s "$folder/model.safetensors"; done

case_begin sweep__compares_by_the_least_loss_of_the_last_phase
run jointflow sweep "$TINY" --set train.rate=1e-3 -o s -q --threads 1
expect_status 0
least=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
                 $at["phase"] == "train" { v = $at["validation"] != "" ? $at["validation"] : $at["loss"]; if (!n++ || v < least) least = v }
                 END { print least }' s/seed-0/history.csv)
expect awk -F, -v least="$least" 'NR == 2 { exit !($1 - least < 1e-6 && least - $1 < 1e-6) }' s/seed-0/result.csv

case_begin sweep__goes_on_where_it_was_and_trains_nothing_twice
run jointflow sweep "$TINY" --set train.rate=1e-2,1e-3 -o s -q --threads 1
expect_status 0
before=$(stat -c %Y%i s/train.rate=1e-2/seed-0/model.safetensors)
run jointflow sweep "$TINY" --set train.rate=1e-2,1e-3,1e-4 --seeds 2 -o s --threads 1
expect_status 0
expect test "$(stat -c %Y%i s/train.rate=1e-2/seed-0/model.safetensors)" = "$before"
expect test "$(grep -c '^run ' "$work/stdout")" -eq 4
expect test "$(wc -l < s/sweep.csv)" -eq 7

case_begin sweep__a_stop_saves_and_the_next_call_ends_with_the_same_results
run jointflow sweep "$TINY" --set train.epochs=40 --set train.rate=1e-2,1e-3 -o whole -q --threads 1
expect_status 0
timeout -s INT 0.4 jointflow sweep "$TINY" --set train.epochs=40 --set train.rate=1e-2,1e-3 -o cut -q --threads 1 > /dev/null 2> stopped
run jointflow sweep "$TINY" --set train.epochs=40 --set train.rate=1e-2,1e-3 -o cut -q --threads 1
expect_status 0
for rate in 1e-2 1e-3; do
    expect cmp whole/train.rate=$rate/seed-0/model.safetensors cut/train.rate=$rate/seed-0/model.safetensors
    expect test "$(cut -d, -f1,2 whole/train.rate=$rate/seed-0/result.csv)" = "$(cut -d, -f1,2 cut/train.rate=$rate/seed-0/result.csv)"
done

case_begin sweep__parts_deal_the_runs_out
run jointflow sweep "$TINY" --set train.rate=1e-2,1e-3,1e-4 -o s -q --threads 1 --part 2/2
expect_status 0
expect test -e s/train.rate=1e-3/seed-0/result.csv
expect test ! -e s/train.rate=1e-2
expect_line '1 of 3 runs are done; the others are those of other parts, or still to come.'
SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_MIN=0 run jointflow sweep "$TINY" --set train.rate=1e-2,1e-3,1e-4 -o s -q --threads 1
expect_status 0
expect test "$(ls s/*/seed-0/result.csv | wc -l)" -eq 3
run jointflow sweep "$TINY" --set train.rate=1e-2,1e-3,1e-4 -o s --show
expect_status 0
expect test "$(grep -c '^run ' "$work/stdout")" -eq 0
expect_line 'best: train.rate=1e-2, loss .*'

case_begin sweep__values_with_commas_stand_in_parentheses
run jointflow sweep "$ROOT/tests/cli/glyphs.ini" --set 'model.kernels=(8),(4)' --set train.epochs=1 -o s -q --threads 1
expect_status 0
expect test -e 's/model.kernels=8/seed-0/result.csv'

case_begin sweep__refuses_what_it_cannot_mean
run jointflow sweep "$TINY" --set train.rate=1e-2, -o s
expect_status 2
expect_error_line 'jointflow: sweep: --set train.rate=1e-2,: a value is missing.*'
run jointflow sweep "$TINY" --set train.rate=1,1 -o s
expect_status 2
expect_error_line '.*a value is there twice.*'
run jointflow sweep "$TINY" --set train.rate -o s
expect_status 2
expect_error_line '.*expected KEY=VALUE.*'
run jointflow sweep "$TINY" --set 'model.width=(8' -o s
expect_status 2
expect_error_line '.*parentheses.*'
run jointflow sweep "$TINY" --set train.rate=1e-2 --part 3/2 -o s
expect_status 2
expect_error_line '.*part 3 of 2: expected one of 1 to 2.*'
run jointflow sweep "$TINY" --set train.nonsense=1,2 -o s
expect_status 1
expect_error_line '.*train.nonsense.*'
run jointflow sweep "$TINY" --set train.rate=1e-3,never -o s # told before the first is trained
expect_status 1
expect_error_line '.*train.rate.*never.*'
expect test ! -e s

case_begin sweep__of_another_recipe_in_the_same_folder_is_refused
run jointflow sweep "$TINY" --set train.rate=1e-2,1e-3 -o s -q --threads 1
run jointflow sweep "$TINY" --set train.rate=1e-2,1e-3 --set train.batch=50 -o s -q --threads 1
expect_status 1
expect_error_line 'jointflow: s: holds a sweep of another recipe \(sweep.ini\); choose another folder with -o'

case_begin sweep__a_pipe_among_its_files_is_not_waited_for
few() { run timeout -s KILL 60 jointflow sweep "$TINY" --set train.rate=1e-2,1e-3 -o s -q --threads 1; }
few
expect_status 0
cp s/sweep.csv before.csv
for name in sweep.csv sweep.ini train.rate=1e-2/seed-0/result.csv; do
    rm s/$name && mkfifo s/$name
    few
    expect_status 0
    expect test -f s/$name
done
expect test "$(cut -d, -f1-3 s/sweep.csv)" = "$(cut -d, -f1-3 before.csv)"
