# Links in the place of files: what is behind one is read, and never changed.
. "$(dirname "$0")/lib.sh"
TINY="$ROOT/tests/cli/tiny.ini"
jointflow train "$TINY" -o "$work/base" --quiet --threads 1 --no-report &&
    jointflow report "$work/base" --points 200 --threads 1 > /dev/null 2>&1 || exit 1
for name in checkpoint-previous.safetensors maps.png calibration.png posterior.png; do
    [ -e "$work/base/$name" ] || echo "$name" > "$work/base/$name"
done

# The files that a run has, that a killed one leaves, and that are set aside.
FILES=$(ls "$work/base")
TEMPORARY="checkpoint-next.safetensors checkpoint-next.safetensors.7-0.tmp model.safetensors.7-0.tmp history.csv.7-0.tmp
    report.html.7-0.tmp samples.png.7-1.tmp"
FOLDERS="old-run old-run-2 old-run.tmp"

# link STYLE NAME: outside/NAME, a copy of run/NAME where that is there, and a link to it in its place.
link() {
    local style=$1 name=$2
    if [ -e "run/$name" ]; then mv "run/$name" "outside/$name"; else echo "my $name" > "outside/$name"; fi
    case $style in
        relative) ln -s "../outside/$name" "run/$name" ;;
        absolute) ln -s "$PWD/outside/$name" "run/$name" ;;
        hard) ln "outside/$name" "run/$name" ;;
        dangling) ln -s "../outside/missing-$name" "run/$name" ;;
        folder) mkdir "outside/$name.d" && cp -a "$work"/base/* "outside/$name.d" && ln -s "../outside/$name.d" "run/$name" ;;
    esac
}

# plant STYLE [NAME ...]: a copy of the run in which these are links, by default all but the lock.
plant() {
    local style=$1 name names
    shift
    names=${*:-"$FILES $TEMPORARY $FOLDERS"}
    rm -rf run outside && cp -a "$work/base" run && mkdir outside
    for name in $names; do
        case $style:$name in
            # without these there would be nothing to work with
            folder:model.* | folder:checkpoint.* | dangling:model.* | dangling:checkpoint.*) ;;
            relative:old-run* | absolute:old-run*) link folder "$name" ;;
            hard:old-run.tmp) ;; # a file, which is in the way of nothing but setting aside
            *) link "$style" "$name" ;;
        esac
    done
    outside > before
}

# Names, types, sizes, times, inodes and content of all that is outside of the run.
outside() { find outside -printf '%p %y %m %s %T@ %i\n' | sort && find outside -type f -exec sha256sum {} + | sort; }
expect_outside_as_it_was() {
    outside > after
    cmp -s before after || case_fail "outside of the run: $(diff before after | head -n 3 | tr '\n' ' ')"
}

for style in relative absolute hard folder dangling; do
    case_begin "links__nothing_behind_one_changes_by_training_and_reporting_$style"
    for words in "train $TINY --force --no-report" "train $TINY --resume --no-report" "train $TINY --no-report" \
                 "report run --points 100"; do
        case $style:$words in absolute:report* | hard:report* | folder:report*) continue ;; esac # takes its time
        plant $style
        case $words in report*) run jointflow $words --threads 1 ;; *) run jointflow $words -o run -q --threads 1 ;; esac
        expect_outside_as_it_was
        case $style:$words in
            *:*--resume* | *:"train $TINY --no-report") ;; # may be refused: there is a run, or no history
            *) expect_status 0 ;;
        esac
        case $style:$words in
            *--force*)
                expect cmp run/model.safetensors "$work/base/model.safetensors"
                for name in model.safetensors checkpoint.safetensors history.csv recipe.ini; do
                    expect test ! -L "run/$name"
                done
                expect test -z "$(find run -name '*.tmp')" ;;
        esac
        [ -z "$case_problem" ] || { case_problem="$words: $case_problem" && break; }
    done
done

case_begin links__in_place_of_the_lock_are_refused_or_left_as_they_are
for style in relative absolute hard folder dangling; do
    plant $style run.lock
    run jointflow train "$TINY" --force --no-report -o run -q --threads 1
    expect_outside_as_it_was
done

case_begin links__of_a_run_are_read_through
run jointflow sample "$work/base" -y 0 -n 100 -o base.csv
plant relative
for model in run run/model.safetensors; do
    run jointflow sample $model -y 0 -n 100 -o samples.csv
    expect_status 0
    expect_same base.csv samples.csv
done
run jointflow judge run --points 100
expect_status 0
expect_outside_as_it_was
run jointflow train "$TINY" -o run --resume -q --no-report --threads 1
expect_status 0
expect_same run/model.safetensors "$work/base/model.safetensors"
expect_outside_as_it_was
ln -s run named # by the user, who means the folder behind it
run jointflow train "$TINY" -o named --force -q --no-report --threads 1
expect_status 0
expect test -L named -a ! -L run/model.safetensors

case_begin links__of_a_run_that_is_set_aside_lead_where_they_did
plant relative $FILES
rm -f run/old-run*
jointflow train "$TINY" --set train.batches=1000000 -o run --force -q --threads 1 2> "$work/stderr" &
pid=$!
for _ in $(seq 600); do [ -e run/old-run ] && break; sleep 0.1; done
expect_same run/old-run/model.safetensors "$work/base/model.safetensors"
expect_same run/old-run/history.csv "$work/base/history.csv"
run jointflow sample run/old-run -y 0 -n 10
expect_status 0
kill -TERM $pid
wait $pid
expect_outside_as_it_was

case_begin links__a_file_in_the_way_of_setting_aside_stays_and_is_told
cp -a "$work/base" run && echo mine > run/old-run.tmp
run jointflow train "$TINY" -o run --force -q --threads 1
expect_status 1
expect_error_line 'jointflow: run/old-run.tmp: folder could not be made: File exists'
run jointflow train "$TINY" -o run --resume -q --no-report --threads 1
expect_status 0
expect test "$(cat run/old-run.tmp)" = mine

case_begin links__beside_what_is_packed_or_exported_are_not_written_through
mkdir outside && for name in packed.md packed.packing.tmp m.density.onnx; do
    echo mine > outside/$name && ln -s outside/$name $name
done
outside > before
run jointflow pack "$work/base" --points 100 -o packed.safetensors
expect_status 0
run jointflow export "$work/base" -o m.onnx
expect_status 0
expect_outside_as_it_was
expect test ! -L packed.md -a ! -L m.density.onnx
echo > outside/m.onnx && ln -s outside/m.onnx typed.onnx # a path that the user gave is followed
run jointflow export "$work/base" -o typed.onnx
expect test -L typed.onnx -a "$(wc -c < outside/m.onnx)" -gt 1

case_begin links__that_the_user_did_not_name_are_not_written_through_by_superres
GLYPHS="$ROOT/tests/cli/glyphs.ini"
run jointflow train "$GLYPHS" --set data.task=superres --set data.classes=all -o large -q --no-report --threads 1
run jointflow superres large --row 0 -o given.png
mkdir outside && echo mine > outside/picture && ln -s outside/picture given-large.png
outside > before
run jointflow superres large given.png
expect_status 1
expect_error_line 'jointflow: given-large.png: is a link; name the file to write with -o'
expect_outside_as_it_was
run jointflow superres large --row 0 -o given-large.png
expect_status 0
expect test -L given-large.png -a "$(wc -c < outside/picture)" -gt 100

case_begin links__in_the_folder_of_a_figure_are_not_written_through
mkdir -p outside f && for name in figure-1.png figure-A3.csv figure-A3.png; do
    echo mine > outside/$name && ln -s ../outside/$name f/$name
done
outside > before
run jointflow figure 1 -o f
expect_status 0
expect_outside_as_it_was
expect test ! -L f/figure-1.png

case_begin links__in_the_folder_of_a_sweep_are_not_written_through
sweep() { run jointflow sweep "$TINY" --set train.rate=1e-2,1e-3 -o s -q --threads 1; }
mkdir -p outside/runs s/train.rate=1e-2
for name in sweep.csv sweep.csv.part sweep.png sweep.ini.part; do
    echo mine > outside/$name && ln -s ../outside/$name s/$name
done
ln -s ../../outside/runs s/train.rate=1e-2/seed-0
outside > before
sweep
expect_status 1
expect_error_line 'jointflow: s/train.rate=1e-2/seed-0: is a link; expected a folder in s'
expect_outside_as_it_was
rm s/train.rate=1e-2/seed-0
sweep
expect_status 0
expect_outside_as_it_was
expect test ! -L s/sweep.csv -a ! -L s/sweep.png
rm s/sweep.csv s/train.rate=1e-2/seed-0/result.csv
for name in sweep.csv sweep.ini; do rm -f s/$name; ln -s ../outside/$name s/$name; done
ln -s ../../../outside/sweep.csv s/train.rate=1e-2/seed-0/result.csv
rm s/sweep.ini && ln -s missing/sweep.ini s/sweep.ini
sweep
expect_status 0
expect_outside_as_it_was
