# What the program says about itself.
. "$(dirname "$0")/lib.sh"
COMMANDS="train sweep sample encode decode density superres interpolate judge compare report explore figure pack export info bench recipe data help version"

case_begin cli__alone_lists_every_command_and_exits_with_2
run jointflow
expect_status 2
for command in $COMMANDS; do expect_line "  $command +[a-z].*"; done
expect_error_line_count 0

case_begin help__lists_every_command
run jointflow help
expect_status 0
for command in $COMMANDS; do expect_line "  $command +[a-z].*"; done

case_begin help__of_every_command_has_usage_options_and_examples
for command in $COMMANDS; do
    run jointflow "$command" --help
    expect_status 0
    expect_line "Usage: jointflow $command.*"
    expect_line 'Options:'
    expect_line '  -h, --help +this text'
    expect_line 'Examples:'
    expect_line "  jointflow $command.*|  jointflow --$command"
    expect_error_line_count 0
done

case_begin help__of_a_command_is_what_its_option_help_prints
jointflow help train > a
jointflow train RECIPE --resume -h > b
expect_same a b

case_begin help__fits_80_columns_but_for_commands_to_copy
for command in $COMMANDS; do jointflow help "$command"; done | grep -v '^  jointflow' > all
expect test "$(awk 'length > 80' all | wc -l)" -eq 0
expect_file all

case_begin help__unknown_command_is_refused_with_the_nearest_one
run jointflow trian
expect_status 2
expect_error_line 'jointflow: unknown command "trian"; did you mean "train"\?'
expect_error_line_count 1
run jointflow help smaple
expect_status 2
expect_error_line 'jointflow: help: unknown command "smaple"; did you mean "sample"\?.*'
run jointflow xylophone
expect_status 2
expect_error_line 'jointflow: unknown command "xylophone" .*'

case_begin version__names_the_program_and_its_devices
run jointflow --version
expect_status 0
expect_line 'jointflow [0-9]+\.[0-9]+\.[0-9]+'
expect_line 'device cpu .*'
expect_line 'device ref .*'
cp "$work/stdout" a
jointflow version > b
expect_same a b

case_begin manual__has_all_commands_and_options
run jointflow help --man
expect_status 0
expect_line '\.TH JOINTFLOW 1 .*'
for command in $COMMANDS; do expect_line "\\.SS $command"; done
for section in NAME SYNOPSIS DESCRIPTION COMMANDS FILES ENVIRONMENT 'EXIT STATUS'; do expect_line "\\.SH $section"; done
expect_line '.*no\\-report.*'

case_begin manual__is_read_by_groff_without_a_warning
command -v groff > /dev/null || skip "groff is not installed"
jointflow help --man > jointflow.1
run groff -man -Tascii -P-cbou -ww jointflow.1
expect_status 0
expect_error_line_count 0
expect grep -q 'jointflow train' "$work/stdout"

case_begin recipe__lists_those_that_came_with_the_program
export JOINTFLOW_RECIPES="$ROOT/recipes"
run jointflow recipe
expect_status 0
expect_line 'crescents +[A-Z].*'
expect_line 'sectors +[A-Z].*'

case_begin recipe__prints_all_keys_so_that_they_read_back_the_same
jointflow recipe "$ROOT/tests/cli/tiny.ini" > a.ini
jointflow recipe a.ini > b.ini
expect_same a.ini b.ini
expect grep -qx 'rate = 1e-2' a.ini
expect grep -qx 'warmup = 0' a.ini
jointflow recipe --set train.rate=0.25 "$ROOT/tests/cli/tiny.ini" > c.ini
expect grep -qx 'rate = 0.25' c.ini

case_begin recipe__docs_explain_every_key_and_read_back
run jointflow recipe --docs
expect_status 0
cp "$work/stdout" template.ini
expect grep -q '^# .*; default' template.ini
jointflow recipe crescents > a
jointflow recipe template.ini > b
expect_same a b

case_begin figure__without_a_name_lists_them
run jointflow figure
expect_status 0
expect_line '3 +[a-z].*'
run jointflow figure 33 -o folder
expect_status 2
expect_error_line_count 1
expect_no_file folder
