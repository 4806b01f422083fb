/* A request to jointflow explore: a line for each header, an empty line, and the body. */
#include "explore/ask.h"
#include "explore/buffer.h"
#include "explore/guard.h"
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>

static const guard door = {.token = "0123456789abcdef0123456789abcdef", .port = 8080};

/* Method, path, Host, Origin, Sec-Fetch-Site, Content-Type, Content-Length; those that are left out are not
 * there. */
static int check_head(char **rest) {
    char *lines[7] = {NULL}, *line;
    int count = 0;
    while ((line = strsep(rest, "\n")) != NULL && *line)
        if (count < 7) lines[count++] = line;
    request_head head = {.method = lines[0] ? lines[0] : "GET",
                         .path = lines[1] ? lines[1] : "/",
                         .host = lines[2],
                         .origin = lines[3],
                         .fetch_site = lines[4],
                         .content_type = lines[5],
                         .content_length = lines[6]};
    const char *after, *why = NULL;
    int status = guard_check(&door, &head, &after, &why);
    FUZZ_EXPECT(status == 200 || (status >= 400 && status < 500 && why && *why));
    if (status == 200) FUZZ_EXPECT(strncmp(head.path + 1, door.token, GUARD_TOKEN) == 0 && after);
    return status;
}

static void look_at(const char *body) {
    ask a;
    double numbers[3];
    buffer out = {0};
    ask_read(&a, body, strlen(body));
    if (!a.refused) {
        long n = ask_whole(&a, "n", 1, 10, 5);
        double t = ask_real(&a, "temperature", 0, 100, 1);
        FUZZ_EXPECT(n >= 1 && n <= 10 && t >= 0 && t <= 100);
        (void)ask_seed(&a, "seed");
        FUZZ_EXPECT(ask_flag(&a, "denoise") <= 1);
        ask_numbers(&a, "y", numbers, 3);
        fuzz_expect_finite(numbers, 3);
        buffer_add_text(&out, ask_text(&a, "along"));
        /* what is written is read again as it was */
        json_t *back = json_loadb(out.chars, out.length, JSON_DECODE_ANY, NULL);
        FUZZ_EXPECT(json_is_string(back) && strcmp(json_string_value(back), ask_text(&a, "along")) == 0);
        json_decref(back);
    }
    FUZZ_EXPECT(!a.refused || *a.why);
    buffer_free(&out);
    ask_free(&a);
}

static jf_status read_input(jf_context *ctx, const fuzz_input *in) {
    char *chars = fuzz_text(in), *rest = chars;
    int status = check_head(&rest);
    look_at(rest ? rest : "");
    free(chars);
    return status == 200 ? JF_OK : jf_fail(ctx, JF_ERROR_ARGUMENT, "status %d", status);
}

const fuzz_reader fuzz_request = {
    .name = "request", .file = "input.txt", .most_bytes = 1024, .read = read_input};
