# Known data sets: listed, checked, fetched. Nothing here uses the net: mirrors are folders, named by file://.
. "$(dirname "$0")/lib.sh"
SHARED=${JOINTFLOW_DATA:-/nowhere}
unset JOINTFLOW_DATA
export XDG_DATA_HOME="$work/share"
FILES="train-images-idx3-ubyte train-labels-idx1-ubyte t10k-images-idx3-ubyte t10k-labels-idx1-ubyte"

# The published files of SET, or the case is skipped.
need_data() { [ -e "$SHARED/$1/train-images-idx3-ubyte.gz" ] || skip "there is no $1 in JOINTFLOW_DATA"; }

# fails MESSAGE COMMAND...: exit status 1 with exactly this one line.
fails() {
    local message=$1
    shift
    run "$@"
    expect_status 1
    expect_error_line "jointflow: $message"
    expect_error_line_count 1
}

misuses() { # MESSAGE COMMAND...
    local message=$1
    shift
    run "$@"
    expect_status 2
    expect_error_line "jointflow: data: $message \(see: jointflow help data\)"
    expect_error_line_count 1
}

case_begin data__list_names_the_sets_and_what_is_missing
run jointflow data list
expect_status 0
expect_line 'mnist +not found; fetch it with: jointflow data fetch mnist'
expect_line ' +.*; 55 MB; CC BY-SA 3.0, .*'
expect_line 'fashion-mnist +not found; .*'
expect_line ' +.*; 55 MB; MIT, .*'
expect_line 'glyphs +needs no files'

case_begin data__fetch_puts_a_set_where_it_is_listed_checked_and_not_fetched_again
need_data mnist
run jointflow data fetch mnist --mirror "file://$SHARED/mnist"
expect_status 0
for file in $FILES; do
    expect_line "fetching $file"
    expect_line "fetched  $XDG_DATA_HOME/jointflow/mnist/$file.gz"
done
expect_line 'mnist: CC BY-SA 3.0, .*'
run jointflow data list
expect_line "mnist +found in $XDG_DATA_HOME/jointflow/mnist"
run jointflow data check "$XDG_DATA_HOME/jointflow"
expect_status 0
expect_line_count 4
for file in $FILES; do expect_line "ok       $XDG_DATA_HOME/jointflow/mnist/$file.gz"; done
run jointflow data fetch mnist --mirror file:///nowhere # needs no mirror any more
expect_status 0
expect_line "ok       $XDG_DATA_HOME/jointflow/mnist/train-images-idx3-ubyte.gz"
run jointflow data fetch mnist --mirror file:///nowhere --quiet
expect_status 0
expect_line_count 0
rm -rf "$XDG_DATA_HOME"

case_begin data__fetch_goes_on_from_a_part_and_replaces_wrong_files
need_data fashion-mnist
mkdir -p mine/fashion-mnist
head -c 1000000 "$SHARED/fashion-mnist/train-images-idx3-ubyte.gz" > mine/fashion-mnist/train-images-idx3-ubyte.gz.part
echo wrong > mine/fashion-mnist/t10k-labels-idx1-ubyte.gz
run jointflow data fetch fashion-mnist --folder mine --mirror file:///nowhere --mirror "file://$SHARED/fashion-mnist/"
expect_status 0
expect_error_line 'jointflow: note: file:///nowhere/train-images-idx3-ubyte.gz: .*; trying the next mirror'
for file in $FILES; do expect_same "$SHARED/fashion-mnist/$file.gz" "mine/fashion-mnist/$file.gz"; done
expect_no_file mine/fashion-mnist/train-images-idx3-ubyte.gz.part

case_begin data__check_takes_raw_files_too
need_data mnist
mkdir mnist
for file in $FILES; do gzip -dc "$SHARED/mnist/$file.gz" > "mnist/$file"; done 2> /dev/null
run jointflow data check mnist
expect_status 0
for file in $FILES; do expect_line "ok       mnist/$file"; done

case_begin data__check_names_missing_and_wrong_files_and_exits_with_1
mkdir -p data/mnist
printf abc > data/mnist/t10k-labels-idx1-ubyte
printf abc | gzip > data/mnist/train-labels-idx1-ubyte.gz
printf abc | gzip | head -c 10 > data/mnist/t10k-images-idx3-ubyte.gz
run jointflow data check data
expect_status 1
expect_line_count 4
expect_line 'missing  data/mnist/train-images-idx3-ubyte.gz'
ABC=ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad
expect_line "wrong    data/mnist/t10k-labels-idx1-ubyte: found SHA-256 $ABC of 3 bytes, expected ff7b[0-9a-f]* of 10008"
expect_line "wrong    data/mnist/train-labels-idx1-ubyte.gz: found SHA-256 $ABC of 3 bytes, expected 65a5[0-9a-f]* of 60008"
expect_line 'wrong    data/mnist/t10k-images-idx3-ubyte.gz: truncated: .*'

case_begin data__check_refuses_folders_without_a_known_set
mkdir empty
fails 'empty: holds no known data set; expected files such as .*' jointflow data check empty
fails 'nowhere: there is no such folder' jointflow data check nowhere

case_begin data__fetch_fails_with_file_found_and_expected_checksum_and_leaves_nothing
mkdir mirror
for file in $FILES; do printf abc > "mirror/$file.gz"; done
fails '.*/mnist/train-images-idx3-ubyte.gz: could not be fetched: .*found SHA-256 ba78.* of 3 bytes, expected ba89.*' \
    jointflow data fetch mnist --folder mine --mirror "file://$PWD/mirror"
expect test -z "$(ls mine/mnist)"
fails '.*train-images-idx3-ubyte.gz: could not be fetched: file:///nowhere/.*' \
    jointflow data fetch mnist --folder mine --mirror file:///nowhere

case_begin data__fetch_of_a_generated_set_has_nothing_to_do
run jointflow data fetch glyphs --folder mine
expect_status 0
expect_line 'glyphs needs no files: .*'
expect_no_file mine

case_begin data__what_is_not_understood_is_refused
misuses 'list\|check\|fetch\|export\|posterior is missing' jointflow data
misuses 'found "fecth"; did you mean "fetch"\?' jointflow data fecth mnist
misuses 'found "remove", expected list, check, fetch, export or posterior' jointflow data remove mnist
misuses 'check: FOLDER is missing' jointflow data check
misuses 'fetch: NAME is missing' jointflow data fetch
misuses 'list: unexpected argument "mnist"' jointflow data list mnist
misuses 'check: takes no option --folder' jointflow data check . --folder mine
fails 'found "minst", expected the name of a known data set: mnist, fashion-mnist, glyphs' jointflow data fetch minst
fails 'found "ftp://host/.*", expected a URL that begins with http://, https:// or file://' \
    jointflow data fetch mnist --folder mine --mirror ftp://host/mnist

case_begin data__export_writes_rows_that_train_without_a_recipe
run jointflow data export two_moons -n 500 --seed 3 --x theta.npy --y obs.npy
expect_status 0
expect grep -aq "'shape': (500, 2)" theta.npy
run jointflow data export two_moons -n 500 --seed 3 -o both.csv
expect_status 0
expect test "$(head -n 1 both.csv)" = theta1,theta2,obs1,obs2
run jointflow train --x theta.npy --y obs.npy -o run --no-report --quiet --set train.epochs=1
expect_status 0
run jointflow train both.csv --x-columns theta1,theta2 --y-columns obs1,obs2 -o run2 --no-report --quiet --set train.epochs=1
expect_status 0

case_begin data__posterior_draws_exact_answers_for_each_row_of_y
printf 'obs1,obs2\n0,0\n0.1,-0.3\n' > obs.csv
run jointflow data posterior two_moons --y obs.csv -n 20 -o exact.csv
expect_status 0
expect test "$(wc -l < exact.csv)" -eq 41
run jointflow data posterior slcp --y obs.csv -o exact.csv
expect_failure
run jointflow data posterior two_moons --y obs.csv --x a.csv -o b.csv
expect_status 2
expect_error_line '.*posterior: takes no option --x.*'
printf '9,9\n' > far.csv
run jointflow data posterior two_moons --y far.csv -o exact.csv
expect_failure
expect_error_line '.*row 1 of y: no x was found for it: expected one that data set "two_moons" can give'
run jointflow data export table -o a.csv
expect_failure
expect_error_line '.*expected a set that draws its points: crescents, .*two_moons.*'
