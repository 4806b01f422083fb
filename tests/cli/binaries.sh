# Programs and libraries, as they were built and as they are packaged: what a loader finds in them.
. "$(dirname "$0")/lib.sh"

# elf_files FOLDER: the programs and shared libraries below it
elf_files() {
    find "$1" \( -name CMakeFiles -o -name packages \) -prune -o -type f -print | while read -r file; do
        if readelf -hW "$file" 2> /dev/null | grep -qE '^ *Type: +(DYN|EXEC) '; then echo "$file"; fi
    done
}

# run_paths FOLDER: all elements of them, one in a line; an empty one is the working directory
run_paths() {
    elf_files "$1" | while read -r file; do
        readelf -dW "$file" | sed -nE 's/.*\((RUNPATH|RPATH)\).*\[(.*)\]/\2/p' | tr : '\n' | sed "s|^|${file##*/} looks in: |"
    done
}

# unpack_packages: all of them, into root/
unpack_packages() {
    local program
    [ -z "$SANITIZE" ] || skip "packages are not made of sanitized builds"
    for program in cpack dpkg-deb dpkg-shlibdeps file; do
        command -v $program > /dev/null || skip "$program is not installed"
    done
    run cpack --config "$BUILD/CPackConfig.cmake" -G DEB -B packages
    [ -z "$case_skip" ] || return
    expect_status 0
    for package in packages/*.deb; do dpkg-deb -x "$package" root || case_fail "$package cannot be unpacked"; done
}

expect_safe_paths() { # FOLDER
    expect test -n "$(elf_files "$1")"
    run run_paths "$1"
    [ -n "$case_skip" ] || expect_no_line '.* looks in: ([^/$].*|\$[^O].*)?'
}

case_begin binaries__look_for_libraries_in_no_relative_folder
expect_safe_paths "$BUILD"

case_begin binaries__of_packages_look_for_libraries_in_no_relative_folder
unpack_packages
if [ -z "$case_skip" ]; then
    expect_safe_paths root
fi
