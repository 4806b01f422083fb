/* What the sanitizers should know of the libraries that are used; part of every program that is built with
 * them. */

/* Fontconfig keeps its patterns by offsets, which hides memory in use from the leak sanitizer. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:libfontconfig";
}
