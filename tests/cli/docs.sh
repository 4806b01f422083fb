# What the documentation shows is what the program does.
. "$(dirname "$0")/lib.sh"

# fenced LANGUAGE: the first block of that language in README.md.
fenced() { awk -v start="\`\`\`$1" '$0 == start { on = 1; next } on && /^```/ { exit } on' "$ROOT/README.md"; }

case_begin docs__recipes_page_is_in_step_with_the_program
run "$ROOT/scripts/make-recipe-docs" --check
expect_status 0

# The commands on a table as they stand there, with fewer rows and a small model.
case_begin docs__commands_of_the_readme_on_a_table_work
awk '/^They need no recipe/ { exit } /^    awk/ { on = 1 } on' "$ROOT/README.md" | sed 's/i < [0-9]*;/i < 1500;/' > commands.sh
awk '/^They need no recipe/ { on = 1 } /^Sizes and epochs/ { exit } on' "$ROOT/README.md" |
    sed -n -e 's/^    \$ build\///' -e '/^jointflow train/s/ *#.*/ --set train.epochs=2 --set model.blocks=1 --set model.width=8/' \
        -e '/^jointflow/p' >> commands.sh
expect test "$(grep -c '^jointflow' commands.sh)" -eq 3
run bash -e commands.sh
expect_status 0
expect_line 'east,north,range'
expect_line '  nll .*'

case_begin docs__program_of_the_readme_compiles_without_a_warning
compiler=$(command -v cc || command -v gcc) || skip "there is no C compiler"
fenced c > answers.c
expect_file answers.c
run "${compiler:-cc}" -std=c11 -Wall -Wextra -Werror -fsyntax-only -I"$ROOT/include" answers.c
expect_status 0

# The commands of the page as they stand there, with fewer rows, a small model and few samples.
case_begin docs__commands_of_the_tutorial_work
awk '$0 == "```sh" { on = 1; next } /^```/ { on = 0 } on' "$ROOT/docs/tutorial.md" |
    sed -e 's/i < [0-9]*;/i < 1200;/' -e 's/-n 5000/-n 100/' \
        -e '/^jointflow train/s/$/ --set train.epochs=2 --set model.blocks=1 --set model.width=8/' > commands.sh
expect test "$(grep -c '^jointflow' commands.sh)" -eq 3
run bash -e commands.sh
expect_status 0
expect_line 'thrown.csv: speed fills 5 to 15 evenly up to both edges, .*'
expect_line '  99 samples for each of [0-9]* pairs of the data: .*'
expect_file corner.png
# Whatever else the page says can be typed, is an option.
for option in bounds corner simulator summary; do
    grep -q -- "--$option" "$ROOT/docs/tutorial.md" || case_fail "the page does not mention --$option"
    jointflow train --help > help; jointflow sample --help >> help; jointflow judge --help >> help
    expect grep -q -- "--$option" help
done

case_begin docs__links_lead_somewhere
for page in $(cd "$ROOT" && echo README.md CONTRIBUTING.md CHANGELOG.md docs/*.md docs/notes/*.md); do
    grep -oE '\]\([^)#]+' "$ROOT/$page" | sed 's/^](//' | grep -v '^http' | while read -r target; do
        [ -e "$(dirname "$ROOT/$page")/$target" ] || echo "$page: $target"
    done
done > missing
run cat missing # shown where the case fails
expect_line_count 0
