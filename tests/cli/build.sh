# The rules of the build: by CMake's generators, and inside of another project. Objects are not compiled again but taken from $BUILD.
. "$(dirname "$0")/lib.sh"

cat > "$work/launcher" << 'END'
#!/bin/bash
# Takes the place of a compiler: copies the object of the same name, if $BUILD has it.
command=("$@") object="" rules=""
while [ $# -gt 0 ]; do
    case "$1" in -o) object=$2 ;; -MF) rules=$2 ;; esac
    shift
done
made=$BUILD/CMakeFiles/${object##*CMakeFiles/}
[[ $object = *.o ]] && [ -e "$made" ] || exec "${command[@]}"
cp "$made" "$object" && { [ -z "$rules" ] || echo "$object:" > "$rules"; }
END
chmod +x "$work/launcher"

# configure GENERATOR SOURCE OPTION...: into made/, with the devices and modules of $BUILD
configure() {
    local generator=$1 source=$2
    shift 2
    [ -z "$SANITIZE" ] || skip "the rules are those of other builds"
    run cmake -G "$generator" -S "$source" -B made -DCMAKE_C_COMPILER_LAUNCHER="$work/launcher" \
        -DCMAKE_CUDA_COMPILER_LAUNCHER="$work/launcher" "$@" \
        $(sed -nE 's/^(JOINTFLOW_(CUDA|MPI|HARDENING):[A-Z]*=.*)/-D\1/p' "$BUILD/CMakeCache.txt")
    [ -n "$case_skip" ] || expect_status 0
}

for generator in "Unix Makefiles" Ninja; do
    case_begin "build__${generator// /_}_makes_everything"
    configure "$generator" "$ROOT"
    run cmake --build made --parallel 2
    [ -n "$case_skip" ] || expect_status 0
    run made/jointflow --version
    [ -n "$case_skip" ] || expect_line 'jointflow [0-9.]*'
done

# project: one that has names and flags of its own, and uses the library
project() {
    cat > program.c << 'END'
#include <jointflow/jointflow.h>
#include <stdio.h>

int main(void) {
    jf_context *ctx;
    if (jf_context_create(&ctx) != JF_OK) return 1;
    jf_context_free(ctx);
    printf("uses %s\n", jf_version());
    return 0;
}
END
    cat > CMakeLists.txt << END
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
set(CMAKE_C_FLAGS_RELEASE "-O1 -DOF_USER")
foreach(name tests man devices compile-options internal-options)
    add_custom_target(\${name})
endforeach()
add_subdirectory("$ROOT" jointflow)
get_property(targets DIRECTORY "$ROOT" PROPERTY BUILDSYSTEM_TARGETS)
list(FILTER targets EXCLUDE REGEX "^jointflow")
if(targets OR NOT CMAKE_C_FLAGS_RELEASE STREQUAL "-O1 -DOF_USER")
    message(FATAL_ERROR "changed by jointflow: \${targets} \${CMAKE_C_FLAGS_RELEASE}")
endif()
add_executable(program program.c)
target_link_libraries(program PRIVATE jointflow::jointflow)
install(TARGETS program)
END
}

# expect_use GENERATOR SHARED
expect_use() {
    project
    configure "$1" . -DBUILD_SHARED_LIBS="$2"
    run cmake --build made --parallel 2
    run made/program
    run cmake --install made --prefix installed
    [ -z "$case_skip" ] || return 0
    expect grep -qx 'CMAKE_BUILD_TYPE:STRING=' made/CMakeCache.txt
    expect_no_file made/jointflow/jointflow
    run made/program
    expect_line 'uses [0-9.]*'
    run find installed -type f
    expect_line_count 1
}

case_begin build__another_project_adds_the_static_library
expect_use "Unix Makefiles" OFF
run cmake made -DCMAKE_BUILD_TYPE=Release
[ -n "$case_skip" ] || expect grep -q -e '-DOF_USER' made/jointflow/CMakeFiles/jointflow-objects.dir/flags.make

case_begin build__another_project_adds_the_shared_library
expect_use Ninja ON
