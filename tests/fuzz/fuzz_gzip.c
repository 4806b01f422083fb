/* Files that may be compressed. */
#include "fuzz.h"
#include "io/gzip.h"
#include <stdlib.h>

enum { MOST = 1 << 16 };

static jf_status read_input(jf_context *ctx, const fuzz_input *in) {
    uint8_t *bytes = NULL;
    size_t size;
    JF_TRY(gzip_read(ctx, &bytes, &size, in->path, MOST));
    FUZZ_EXPECT(size <= MOST);
    fuzz_touch(bytes, size);
    free(bytes);
    return JF_OK;
}

const fuzz_reader fuzz_gzip = {.name = "gzip", .file = "input.gz", .most_bytes = 1024, .read = read_input};
