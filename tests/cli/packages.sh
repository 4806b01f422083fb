# Debian packages and what is installed: unpacked into an empty root, the program runs there, and programs in C and C++ are
# built against the library by pkg-config and by CMake.
. "$(dirname "$0")/lib.sh"

packages=$work/packages

need() { # PROGRAM...: skips the case without them
    local program
    [ -z "$SANITIZE" ] || skip "packages are not made of sanitized builds"
    for program; do command -v "$program" > /dev/null || skip "$program is not installed"; done
    [ -z "$case_skip" ]
}

need_packages() {
    need cpack dpkg-deb dpkg-shlibdeps file "$@" || return 1
    [ -d "$packages" ] && return
    cpack --config "$BUILD/CPackConfig.cmake" -G DEB -B "$packages" > "$work/cpack" 2>&1 ||
        case_fail "cpack: $(tail -n 1 "$work/cpack")"
}

unpack() { # PACKAGE...: into root/
    local name file
    for name; do
        file=$(echo "$packages/$name"_*.deb)
        [ -f "$file" ] || case_fail "there is no package $name"
        dpkg-deb -x "$file" root || case_fail "$name cannot be unpacked"
    done
}

# The libraries of the system that a program needs: the rest of a clean root.
add_libraries() { # PROGRAM
    ldd "$1" | grep -oE '/[^ ]+' | while read -r library; do
        case "$library" in
            "$PWD"/*) ;;
            *) mkdir -p "root$(dirname "$library")" && cp -L "$library" "root$library" ;;
        esac
    done
}

program() {
    cat << 'END'
#include <jointflow/jointflow.h>
#include <stdio.h>

int main(void) {
    jf_context *ctx = NULL;
    jf_model *m = NULL;
    double y[1], x[2];
    if (!jf_version_check(JF_VERSION_MAJOR, JF_VERSION_MINOR, JF_VERSION_PATCH)) return 1;
    if (jf_context_create(&ctx) != JF_OK || jf_model_load(&m, ctx, "crescents", NULL) != JF_OK) return 2;
    y[0] = jf_model_label(m, 0);
    jf_use_options options = jf_use_options();
    options.size = sizeof options;
    options.seed = 1;
    if (jf_sample(m, 1, y, x, NULL, NULL, &options) != JF_OK) return 3;
    jf_context_free(ctx); /* the model keeps it */
    printf("%s %d\n", jf_version(), x[0] == x[0]);
    jf_model_free(m);
    return 0;
}
END
}

program_in_c() {
    program | sed 's/jf_use_options options = jf_use_options();/jf_use_options options = {0};/'
}

expect_program() { # PROGRAM
    run env -i LD_LIBRARY_PATH="$PWD/root/usr/lib" "$1"
    expect_status 0
    expect_line '[0-9.]* 1'
}

case_begin packages__of_the_program_run_in_an_empty_root
if need_packages ldd chroot; then
    unpack jointflow jointflow-data
    add_libraries root/usr/bin/jointflow
    [ "$(id -u)" = 0 ] || skip "only root can change its root"
    run chroot root /usr/bin/jointflow --version
    expect_status 0
    expect_line 'jointflow [0-9.]*'
    run chroot root /usr/bin/jointflow sample crescents -n 4 -o /samples.csv
    expect_status 0
    expect_file root/samples.csv
    run dpkg-deb -f "$(echo "$packages"/jointflow_*.deb)" Depends
    expect_line '.*libcairo2.*'
    expect_file root/usr/share/man/man1/jointflow.1
fi

case_begin packages__of_the_library_serve_c_by_pkg_config
if need_packages cc pkg-config; then
    unpack "$(basename "$(echo "$packages"/libjointflow[0-9]*.deb)" | cut -d_ -f1)" libjointflow-dev jointflow-data
    program_in_c > program.c
    run cc -Wall -Wextra -Werror program.c $(pkg-config --cflags --libs "$(find "$PWD/root" -name jointflow.pc)") -o program
    expect_status 0
    expect_program ./program
    run ldd program
    expect_line '.*libjointflow.so.[0-9]*.*'
fi

case_begin packages__of_the_library_serve_cpp_by_cmake
if need_packages c++ cmake; then
    unpack "$(basename "$(echo "$packages"/libjointflow[0-9]*.deb)" | cut -d_ -f1)" libjointflow-dev jointflow-data
    program > program.cpp
    cat > CMakeLists.txt << 'END'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX)
find_package(jointflow REQUIRED)
add_executable(program program.cpp)
target_compile_options(program PRIVATE -Wall -Wextra -Werror -pedantic)
target_link_libraries(program PRIVATE jointflow::jointflow)
END
    run cmake -S . -B made -DCMAKE_PREFIX_PATH="$PWD/root/usr"
    expect_status 0
    run cmake --build made
    expect_status 0
    run env -i JOINTFLOW_MODELS="$PWD/root/usr/share/jointflow/models" made/program
    expect_status 0
    expect_line '[0-9.]* 1'
fi

case_begin packages__of_python_are_imported_from_there
if need_packages python3; then
    unpack "$(basename "$(echo "$packages"/libjointflow[0-9]*.deb)" | cut -d_ -f1)" python3-jointflow jointflow-data
    /usr/bin/python3 -c 'import numpy' 2> /dev/null || skip "python3-numpy is not installed"
    run env -i HOME="$PWD" LD_LIBRARY_PATH="$PWD/root/usr/lib" PYTHONPATH="$PWD/root/usr/lib/python3/dist-packages" \
        /usr/bin/python3 -c 'import jointflow; print(jointflow.__file__, jointflow.load("crescents").sample([0], 3).shape)'
    expect_status 0
    expect_line "$PWD/root/usr/lib/python3/dist-packages/jointflow/__init__.py .*"
fi

case_begin packages__of_the_module_for_mpi_serve_the_program
[ -e "$BUILD/libjointflow-mpi.so" ] || skip "the module for MPI was not built: install the packages of [mpi] in packages.txt"
if need_packages mpirun; then
    unpack jointflow jointflow-data libjointflow-mpi
    run dpkg-deb -f "$(echo "$packages"/libjointflow-mpi_*.deb)" Depends
    expect_line '.*libopenmpi.*'
    run dpkg-deb -f "$(echo "$packages"/jointflow_*.deb)" Depends
    expect_no_line '.*openmpi.*' # which the program does without
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    run mpirun -n 2 root/usr/bin/jointflow train "$ROOT/tests/cli/tiny.ini" -o run --no-report
    expect_status 0
    expect grep -q '2 ranks share every batch' "$work/stdout"
fi
