# What the libraries show of themselves: the names that the public headers declare, and no other.
. "$(dirname "$0")/lib.sh"

compiler=$(command -v cc || command -v gcc)

need() { # PROGRAM...: skips the case without them
    local program
    [ -z "$SANITIZE" ] || skip "names of the sanitizers are visible, too"
    [ -n "$compiler" ] || skip "there is no C compiler"
    for program; do command -v "$program" > /dev/null || skip "$program is not installed"; done
}

# The functions of the public headers, by what the preprocessor leaves of them.
declared() {
    "$compiler" -E -P -I"$ROOT/include" "$ROOT/include/jointflow/jointflow.h" |
        grep -oE '\bjf_[a-z0-9_]+\(' | tr -d '(' | sort -u
}

# expect_exports LIBRARY [OPTION OF NM]: its global names are those declared; shows the differences.
expect_exports() {
    declared > declared
    nm -g --defined-only "${@:2}" "$1" | awk 'NF == 3 { print $3 }' | sort > exported
    run diff declared exported
    expect_file declared
    expect_status 0
}

case_begin library__static_exports_what_the_headers_declare_and_nothing_else
need nm
expect_exports "$BUILD/libjointflow.a"

case_begin library__shared_exports_what_the_headers_declare_and_nothing_else
need nm
expect_exports "$BUILD/libjointflow.so" -D

# The list is written down, so that a name that goes or comes is seen in a change: one that goes breaks programs, and
# JOINTFLOW_ABI of CMakeLists.txt has to rise.
case_begin library__exports_are_those_that_are_written_down
need
declared > declared
run diff "$ROOT/cmake/exports.txt" declared
expect_status 0

case_begin library__header_is_cpp_and_c99_too
need c++
echo '#include <jointflow/jointflow.h>' | tee header.cpp > header.c
echo 'jf_status (*load)(jf_model **, jf_context *, const char *, const jf_load_options *) = jf_model_load;' >> header.cpp
run c++ -std=c++11 -Wall -Wextra -Werror -pedantic -fsyntax-only -I"$ROOT/include" header.cpp
expect_status 0
run "$compiler" -std=c99 -Wall -Wextra -Werror -pedantic -fsyntax-only -I"$ROOT/include" header.c
expect_status 0

# A program with functions and variables that are named like some inside of the library.
same_names() {
    cat << 'END'
#include <jointflow/jointflow.h>
#include <stdio.h>

int rules = 1, device_kinds = 2;
int phases(void) { return 3; }
int quantile(void) { return 4; }
int jf_fail(void) { return 5; }

int main(void) {
    jf_context *ctx = NULL;
    jf_recipe *recipe = NULL;
    if (jf_context_create(&ctx) != JF_OK) return 1;
    jf_status status = jf_recipe_parse(&recipe, ctx, "[loss]\nobjective = none\n", "mine");
    printf("%s: %s\n", jf_status_name(status), jf_context_error(ctx));
    printf("%d %d %d %d %d\n", rules, device_kinds, phases(), quantile(), jf_fail());
    jf_recipe_free(recipe);
    jf_context_free(ctx);
    return 0;
}
END
}

expect_own_names() {
    run ./program
    expect_status 0
    expect_line 'JF_ERROR_RECIPE: mine.*objective.*'
    expect_line '1 2 3 4 5'
}

case_begin library__installed_leaves_a_program_its_own_names
need cmake pkg-config
same_names > program.c
run cmake --install "$BUILD" --prefix "$PWD/installed"
expect_status 0
package=$(find "$PWD/installed" -name jointflow.pc)
run "$compiler" -Wall -Wextra -Werror program.c $(pkg-config --cflags --libs "$package") \
    -Wl,-rpath,"$(pkg-config --variable=libdir "$package")" -o program
expect_status 0
expect_own_names

case_begin library__shared_leaves_a_program_its_own_names
need
same_names > program.c
run "$compiler" program.c -I"$ROOT/include" "$BUILD/libjointflow.so" -Wl,-rpath,"$BUILD" -o program
expect_status 0
expect_own_names
