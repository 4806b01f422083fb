# Programs and libraries, as they were built and as they are packaged: what a loader and an attacker find in them.
. "$(dirname "$0")/lib.sh"

hardening=$(sed -n 's/^JOINTFLOW_HARDENING:BOOL=//p' "$BUILD/CMakeCache.txt")

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

# weaknesses FOLDER: what its programs and libraries lack, one in a line
weaknesses() {
    elf_files "$1" | while read -r file; do
        readelf -lW "$file" > headers
        readelf -dW "$file" > dynamic
        readelf --dyn-syms -W "$file" > symbols
        grep -q 'GNU_RELRO' headers || echo "$file: no RELRO"
        grep -qE 'GNU_STACK .* RW +0x' headers || echo "$file: the stack may be executable"
        grep -qE 'BIND_NOW|Flags:.* NOW' dynamic || echo "$file: no BIND_NOW"
        grep -qE 'Elf file type is DYN' headers || echo "$file: not position-independent"
        grep -q ' __stack_chk_fail@' symbols || echo "$file: no stack protector"
        grep -qE ' __[a-z]+_chk@' symbols || [[ $file = */libjointflow-faults.so ]] || echo "$file: no checked functions"
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

expect_hardened() { # FOLDER
    [ -z "$SANITIZE" ] || skip "sanitizers bring checks of their own"
    [ "$hardening" != OFF ] || skip "this build has JOINTFLOW_HARDENING=OFF"
    expect test -n "$(elf_files "$1")"
    run weaknesses "$1"
    [ -n "$case_skip" ] || expect_line_count 0
}

case_begin binaries__look_for_libraries_in_no_relative_folder
expect_safe_paths "$BUILD"

case_begin binaries__are_hardened
expect_hardened "$BUILD"

case_begin binaries__of_packages_look_for_libraries_in_no_relative_folder_and_are_hardened
unpack_packages
if [ -z "$case_skip" ]; then
    expect_safe_paths root
    expect_hardened root
fi

case_begin binaries__are_compiled_with_the_hardening_of_debian
flags() { DEB_BUILD_MAINT_OPTIONS=hardening=$1 dpkg-buildflags --get "$2" | tr ' ' '\n' | sort; }
command -v dpkg-buildflags > /dev/null || skip "dpkg-buildflags is not installed"
[ -z "$SANITIZE" ] || skip "sanitizers bring checks of their own"
[ "$hardening" != OFF ] || skip "this build has JOINTFLOW_HARDENING=OFF"
if [ -z "$case_skip" ]; then
    for kind in CFLAGS CPPFLAGS; do comm -13 <(flags -all $kind) <(flags +all $kind); done > wanted
    expect grep -qx -e '-D_FORTIFY_SOURCE=.' wanted
    grep '"command":.*\.c"' "$BUILD/compile_commands.json" > commands
    expect test -s commands
    while read -r flag; do expect_same /dev/null <(grep -vF -e " $flag " commands); done < wanted
fi
