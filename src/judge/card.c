#include "base/file.h"
#include "base/number.h"
#include "base/shell.h"
#include "data/known.h"
#include "inference/commands.h"
#include "inference/image_conditions.h"
#include "judge/judge_history.h"
#include "judge/pack.h"
#include "loss/loss_rule.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MILESTONES = 8 }; /* epochs of the history that are told, besides the first of each phase */

/* ---- text of a model file, which is no markup ---- */

static void add_plain(text *out, const char *chars) {
    for (; *chars; chars++) text_add(out, strchr("\\`*[]<>|&", *chars) ? "\\%c" : "%c", *chars);
}

/* Markdown has no escapes in a code span, but for the bar of a table. */
static void add_code_span(text *out, const char *chars) {
    text_add(out, "`");
    for (; *chars; chars++) text_add(out, *chars == '|' ? "\\%c" : "%c", *chars == '`' ? '\'' : *chars);
    text_add(out, "`");
}

/* ---- what it is ---- */

static void add_classes(const model_units *u, text *out) {
    text_add(out, "one of %d classes (", u->classes);
    for (int c = 0; c < u->classes; c++) {
        char label[NUMBER_SIZE];
        number_shortest(label, u->label[c]);
        text_add(out, "%s", c ? ", " : "");
        add_plain(out, u->class_name[c][0] ? u->class_name[c] : label);
    }
    text_add(out, ")");
}

static jf_status add_images(const model *m, text *out) {
    task *t;
    JF_TRY(model_task(m, &t));
    text_add(out, "Images of %d x %d", t->size.h, t->size.w);
    if (t->image_channels != 1) text_add(out, " in %d channels", t->image_channels);
    if (t->kind->condition)
        text_add(out, " given degraded ones of %d x %d (%s)", t->input_h, t->input_w, t->kind->name);
    task_free(t);
    return JF_OK;
}

static const char *data_of(const model *m) {
    const char *images = m->units.image.h > 0 ? recipe_get(m->recipe, "data.images") : NULL;
    return images ? images : recipe_get(m->recipe, "data.set");
}

/* "; fashion makes them 28 x 28" */
static void add_then(const model *m, const judgement *j, text *out) {
    if (!model_then(m)) return;
    text_add(out, "; ");
    add_plain(out, model_then(m));
    text_add(out, " makes them ");
    if (j->image.enlarged_h)
        text_add(out, "%d x %d", j->image.enlarged_h, j->image.enlarged_w);
    else
        text_add(out, "larger");
}

/* One paragraph, which lists of models show. */
static jf_status add_summary(const model *m, const judgement *j, text *out) {
    const model_units *u = &m->units;
    if (!m->objective.kind->from_data) {
        const char *name = recipe_get(m->recipe, "loss.rule");
        const rule *r = name ? rule_find(name) : NULL;
        text_add(out, "Points of the plane by the rule %s%s%s, trained without data.\n", name ? name : "",
                 r ? ": " : "", r ? r->formula : "");
        return JF_OK;
    }
    if (u->image.h > 0)
        JF_TRY(add_images(m, out));
    else
        text_add(out, "x of %d number%s", u->dim_x, u->dim_x == 1 ? "" : "s");
    if (u->classes) {
        text_add(out, " given ");
        add_classes(u, out);
    } else if (u->dim_y && u->image.h == 0) {
        text_add(out, " given y of %d number%s", u->dim_y, u->dim_y == 1 ? "" : "s");
    }
    text_add(out, ", trained on ");
    add_plain(out, data_of(m));
    add_then(m, j, out);
    text_add(out, ".\n");
    return JF_OK;
}

/* ---- facts ---- */

static void add_facts(const model *m, const card_facts *f, text *out) {
    text_add(out, "\n| | |\n|---|---|\n| file | `%s`, %zu bytes |\n| SHA-256 | `%s` |\n", f->file, f->bytes,
             f->sha256);
    text_add(out, "| weights | %zu, %s |\n", m->parameters.total,
             f->half ? "stored in half precision (F16), used in single" : "stored as they were trained");
    text_add(out, "| flow | ");
    flow_describe(m->flow, out);
    text_add(out, ", law %s, networks %s, condition %s |\n", recipe_get(m->recipe, "model.law"),
             recipe_get(m->recipe, "model.net"),
             m->flow->dim_y ? recipe_get(m->recipe, "model.condition") : "none");
    text_add(out, "| recipe | ");
    add_code_span(out, recipe_short_name(m->recipe));
    text_add(out, ", seed %llu |\n| training | ", (unsigned long long)m->seed);
    add_plain(out, m->trained[0] ? m->trained : "none");
    text_add(out, " |\n");
    if (!m->objective.kind->from_data) return;
    for (const known_set *set = known_sets; set->name; set++)
        if (strcmp(set->name, data_of(m)) == 0)
            text_add(out, "| data | %s (%s; licence: %s) |\n", set->name, set->about, set->licence);
}

static jf_status add_use(const model *m, const card_facts *f, text *out) {
    text_add(out, "\n## Use\n\n    ");
    JF_TRY(commands_add_sample(m, "jointflow", f->called, out));
    text_add(out, "\n    jointflow judge ");
    shell_add_path(out, f->called);
    text_add(out, "\n");
    return JF_OK;
}

/* ---- how it was made ---- */

static void add_cell(text *out, const char *format, double value) {
    char number[JUDGE_MAX_NUMBER];
    text_add(out, " %s |", isfinite(value) ? judge_number(number, 12, format, value) : "");
}

static int is_first_of_phase(const history *h, long row) {
    for (int p = 0; p < h->phase_count; p++)
        if ((long)h->phases[p].start == row + 1) return 1;
    return 0;
}

static const char *phase_of(const history *h, long row) {
    int at = 0;
    while (at + 1 < h->phase_count && (long)h->phases[at + 1].start <= row + 1) at++;
    return h->phase_count ? h->phase_names[at] : "";
}

static void add_milestones(const history *h, text *out) {
    text_add(
        out,
        "\n## Training\n\n| epoch | phase | loss | y error | held-out loss | latent KS, worst | seconds |\n"
        "|---:|---|---:|---:|---:|---:|---:|\n");
    for (long row = 0, next = 0; row < h->rows; row++) {
        int due = row + 1 == h->rows || row * MILESTONES >= next * h->rows;
        if (!due && !is_first_of_phase(h, row)) continue;
        while (row * MILESTONES >= next * h->rows) next++;
        text_add(out, "| %ld | %s |", row + 1, phase_of(h, row));
        add_cell(out, "%.4f", h->values[TERM_TOTAL][row]);
        add_cell(out, "%.2e", h->values[TERM_Y_ERROR][row]);
        add_cell(out, "%.4f", h->values[HISTORY_VALIDATION][row]);
        add_cell(out, "%.4f", h->values[HISTORY_KS_MAX][row]);
        add_cell(out, "%.0f", h->values[HISTORY_SECONDS][row]);
        text_add(out, "\n");
    }
}

static jf_status add_history(const model *m, const card_facts *f, text *out) {
    char *path = NULL;
    history h = {0};
    jf_status status = JF_OK;
    if (!f->run) return JF_OK;
    JF_TRY_DONE(file_join(m->ctx, &path, f->run, "history.csv"));
    if (!file_exists(path)) goto done;
    JF_TRY_DONE(history_read(m->ctx, &h, path));
    if (h.rows) add_milestones(&h, out);
done:
    history_free(&h);
    free(path);
    return status;
}

/* Lines of code: four blanks before each. */
static void add_code(text *out, const char *chars) {
    while (chars && *chars) {
        size_t length = strcspn(chars, "\n"), shown = length;
        while (shown && chars[shown - 1] == ' ') shown--;
        if (shown) text_add(out, "    %.*s", (int)shown, chars);
        text_add(out, "\n");
        chars += length + (chars[length] == '\n');
    }
}

static jf_status add_recipe(const model *m, text *out) {
    text recipe_text = {0};
    recipe_write(m->recipe, &recipe_text, 0);
    jf_status status = text_check(m->ctx, &recipe_text);
    text_add(out, "\n## Recipe\n\n");
    if (status == JF_OK) add_code(out, recipe_text.chars);
    text_free(&recipe_text);
    return status;
}

jf_status card_write(const model *m, const judgement *j, const card_facts *f, text *out) {
    text_add(out, "# %s\n\n", f->name);
    JF_TRY(add_summary(m, j, out));
    add_facts(m, f, out);
    JF_TRY(add_use(m, f, out));
    text_add(out, "\n## Numbers\n\n`jointflow judge`, of this file:\n\n");
    add_code(out, j->table.chars);
    if (*f->comparison) {
        text_add(out, "\nThe same points judged before and after the weights were rounded, when the file was "
                      "made:\n\n");
        add_code(out, f->comparison);
    }
    JF_TRY(add_history(m, f, out));
    JF_TRY(add_recipe(m, out));
    return text_check(m->ctx, out);
}
