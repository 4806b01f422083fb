/* Commands that people paste: the condition of a model as an option of `jointflow sample`. */
#include "inference/commands.h"
#include "base/number.h"
#include "base/shell.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 4 }; /* that an example has */

/* A name may have to be a label: what separates conditions stands in it, or what a file begins with. */
static void add_class(const model_units *u, int c, text *out) {
    const char *name = u->class_name[c];
    if (*name && !strpbrk(name, ",;:") && *name != '@')
        text_add(out, "%s", name);
    else
        text_add_number(out, u->label[c]);
}

/* The middle of the data's y, with the fewest digits that are within a tenth of a deviation of it and inside
 * of its support. */
static void add_middle(const model_units *u, int element, text *out) {
    double middle = units_to_data(u, element, 0), near = fabs(units_to_data(u, element, 0.1) - middle), found;
    char number[NUMBER_SIZE];
    for (int digits = 1; digits <= 17; digits++) {
        format_text(number, sizeof number, "%.*g", digits, middle);
        int good = number_parse(number, &found) && fabs(found - middle) <= near;
        if (good && (!u->support || support_contains(&u->support[element], found))) break;
    }
    text_add(out, "%s", number);
}

jf_status commands_add_y(const model *m, text *out) {
    const model_units *u = &m->units;
    text words = {0};
    if (u->dim_y == 0) return JF_OK;
    if (u->image.h > 0 && !u->classes) {
        text_add(out, " --row 1"); /* of its held-out images */
        return JF_OK;
    }
    for (int c = 0; c < u->classes && c < CLASSES; c++) {
        text_add(&words, "%s", c ? "," : "");
        add_class(u, c, &words);
    }
    for (int i = 0; i < u->dim_y && !u->classes; i++) {
        text_add(&words, "%s", i ? "," : "");
        add_middle(u, u->dim_x + i, &words);
    }
    jf_status status = text_check(m->ctx, &words);
    text_add(out, " -y ");
    if (status == JF_OK) shell_add_word(out, words.chars);
    text_free(&words);
    return status;
}

jf_status commands_add_sample(const model *m, const char *program, const char *name, text *out) {
    int picture = m->units.image.h > 0 || m->units.dim_x == 2;
    shell_add_word(out, program);
    text_add(out, " sample ");
    shell_add_path(out, name);
    JF_TRY(commands_add_y(m, out));
    text_add(out, picture ? " -o samples.png" : " -n 1000 -o samples.csv");
    return JF_OK;
}
