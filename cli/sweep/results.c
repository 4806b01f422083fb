#include "results.h"
#include "outputs.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char header[] = "loss,epoch,seconds";

/* The fields of a line, cut in place; returns how many. */
static int cut_line(char *line, char **fields, int most) {
    int count = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *at = line; at && count < most;) {
        char *comma = strchr(at, ',');
        fields[count++] = at;
        if (comma) *comma = '\0';
        at = comma ? comma + 1 : NULL;
    }
    return count;
}

static int place_of(const char *name, char **fields, int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(fields[i], name) == 0) return i;
    return -1;
}

enum { MOST_FIELDS = 64, LINE = 4096 };

/* Where the columns of history.csv are. */
typedef struct history_columns {
    int phase, epoch, loss, validation, seconds;
} history_columns;

static int find_columns(char *line, history_columns *at) {
    char *fields[MOST_FIELDS];
    int count = cut_line(line, fields, MOST_FIELDS);
    *at = (history_columns){place_of("phase", fields, count), place_of("epoch", fields, count),
                            place_of("loss", fields, count), place_of("validation", fields, count),
                            place_of("seconds", fields, count)};
    return at->phase >= 0 && at->epoch >= 0 && at->loss >= 0 && at->seconds >= 0;
}

/* Of each phase anew, so that the last one counts. */
static void take_epoch(char *line, const history_columns *at, char phase[64], sweep_result *out) {
    char *fields[MOST_FIELDS];
    double loss, seconds, epoch;
    int count = cut_line(line, fields, MOST_FIELDS);
    if (count <= at->phase || count <= at->epoch || count <= at->loss || count <= at->seconds) return;
    int held = at->validation >= 0 && at->validation < count && *fields[at->validation];
    if (!number_read(fields[held ? at->validation : at->loss], &loss) ||
        !number_read(fields[at->seconds], &seconds) || !number_read(fields[at->epoch], &epoch))
        return;
    if (strcmp(phase, fields[at->phase]) != 0) {
        snprintf(phase, 64, "%s", fields[at->phase]);
        out->done = 0;
    }
    out->seconds = seconds;
    if (out->done && !(loss < out->loss)) return;
    out->loss = loss, out->epoch = (int64_t)epoch, out->done = 1;
}

int sweep_result_of_history(const char *folder, sweep_result *out) {
    char *path = cli_join("%s/history.csv", folder), line[LINE], phase[64] = "";
    FILE *in = path ? cli_open(path) : NULL;
    history_columns at;
    *out = (sweep_result){0};
    free(path);
    if (!in) return 0;
    if (fgets(line, sizeof line, in) && find_columns(line, &at))
        while (fgets(line, sizeof line, in)) take_epoch(line, &at, phase, out);
    fclose(in);
    return out->done;
}

int sweep_result_read(const char *folder, sweep_result *out) {
    char *path = cli_join("%s/result.csv", folder), line[256];
    FILE *in = path ? cli_open(path) : NULL;
    long long epoch = 0;
    *out = (sweep_result){0};
    free(path);
    if (!in) return 0;
    if (fgets(line, sizeof line, in) && strncmp(line, header, strlen(header)) == 0 &&
        fgets(line, sizeof line, in))
        out->done = sscanf(line, "%lf,%lld,%lf", &out->loss, &epoch, &out->seconds) == 3;
    out->epoch = epoch;
    fclose(in);
    return out->done;
}

int sweep_result_write(const char *folder, const sweep_result *r) {
    char *path = cli_join("%s/result.csv", folder),
         *text = cli_join("%s\n%.17g,%lld,%.3f\n", header, r->loss, (long long)r->epoch, r->seconds);
    int code = path && text ? output_replace_file(path, text) : cli_fail_memory();
    free(path);
    free(text);
    return code;
}

static int by_mean(const void *a, const void *b) {
    const sweep_score *p = a, *q = b;
    if ((p->seeds > 0) != (q->seeds > 0)) return p->seeds > 0 ? -1 : 1;
    if (p->seeds > 0 && p->mean != q->mean) return p->mean < q->mean ? -1 : 1;
    return p->setting - q->setting;
}

static sweep_score score_of(const sweep_plan *p, const sweep_result *results, int setting) {
    sweep_score s = {.setting = setting, .spread = NAN};
    const sweep_result *of = results + setting * p->seeds;
    double squares = 0;
    for (int i = 0; i < p->seeds; i++)
        if (of[i].done) s.seeds++, s.mean += of[i].loss, s.seconds += of[i].seconds;
    if (s.seeds == 0) return s;
    s.mean /= s.seeds, s.seconds /= s.seeds;
    for (int i = 0; i < p->seeds; i++)
        if (of[i].done) squares += (of[i].loss - s.mean) * (of[i].loss - s.mean);
    if (s.seeds > 1) s.spread = sqrt(squares / (s.seeds - 1));
    return s;
}

int sweep_scores(const sweep_plan *p, const sweep_result *results, sweep_score *scores) {
    int scored = 0;
    for (int i = 0; i < p->settings; i++) {
        scores[i] = score_of(p, results, i);
        scored += scores[i].seeds > 0;
    }
    qsort(scores, (size_t)p->settings, sizeof *scores, by_mean);
    return scored;
}

static int print_row(const sweep_plan *p, const sweep_score *s) {
    char *words = sweep_plan_words(p, s->setting), spread[32] = "";
    if (!words) return cli_fail_memory();
    if (isfinite(s->spread)) snprintf(spread, sizeof spread, "%.4g", s->spread);
    printf("%12.6g %10s %6d %9.1f  %s\n", s->mean, spread, s->seeds, s->seconds, words);
    free(words);
    return CLI_OK;
}

/* Whether the best is better than the next by more than both vary. */
static int print_best(const sweep_plan *p, const sweep_score *scores, int scored) {
    char *words = sweep_plan_words(p, scores[0].setting);
    if (!words) return cli_fail_memory();
    printf("\nbest: %s, loss %.6g", words, scores[0].mean);
    if (isfinite(scores[0].spread))
        printf(" with a spread of %.3g over %d seeds", scores[0].spread, scores[0].seeds);
    puts(".");
    free(words);
    if (scored > 1 && isfinite(scores[0].spread) && isfinite(scores[1].spread)) {
        double error = sqrt(scores[0].spread * scores[0].spread / scores[0].seeds +
                            scores[1].spread * scores[1].spread / scores[1].seeds);
        if (!(scores[1].mean - scores[0].mean > 2 * error))
            puts("The next one is within what seeds explain: take either, or run more seeds.");
    } else if (scored > 1)
        puts("With one seed each a difference may be chance: --seeds 3 tells.");
    return CLI_OK;
}

int sweep_print(const sweep_plan *p, const sweep_result *results) {
    sweep_score *scores = calloc((size_t)p->settings, sizeof *scores);
    if (!scores) return cli_fail_memory();
    int scored = sweep_scores(p, results, scores), code = CLI_OK;
    if (scored > 0) printf("\n%12s %10s %6s %9s  %s\n", "loss", "spread", "seeds", "seconds", "setting");
    for (int i = 0; i < scored && code == CLI_OK; i++) code = print_row(p, &scores[i]);
    if (scored > 0 && code == CLI_OK) code = print_best(p, scores, scored);
    free(scores);
    return code;
}

/* A CSV field: quoted where it holds what ends one. */
static char *field_of(const char *text) {
    if (!strpbrk(text, ",\"\n")) return cli_join("%s", text);
    size_t length = strlen(text);
    char *field = malloc(2 * length + 3), *to = field;
    if (!field) return NULL;
    *to++ = '"';
    for (const char *at = text; *at; at++) {
        if (*at == '"') *to++ = '"';
        *to++ = *at;
    }
    *to++ = '"';
    *to = '\0';
    return field;
}

/* `all` becomes longer; NULL: no memory */
static char *append(char *all, const char *format, const char *text) {
    char *longer = all && text ? cli_join(format, all, text) : NULL;
    free(all);
    return longer;
}

static char *run_line(const sweep_plan *p, const sweep_result *r, int setting, int seed) {
    char *line = cli_join("%s", "");
    for (int i = 0; i < p->axis_count && line; i++) {
        char *field = field_of(sweep_plan_value(p, setting, i));
        line = append(line, "%s%s,", field);
        free(field);
    }
    char *rest = r->done
                     ? cli_join("%llu,%.17g,%lld,%.3f", (unsigned long long)(p->first_seed + (uint64_t)seed),
                                r->loss, (long long)r->epoch, r->seconds)
                     : cli_join("%llu,,,", (unsigned long long)(p->first_seed + (uint64_t)seed));
    line = append(line, "%s%s\n", rest);
    free(rest);
    return line;
}

static int write_table(const sweep_plan *p, const sweep_result *results, const char *folder) {
    char *all = cli_join("%s", ""), *path = cli_join("%s/sweep.csv", folder);
    for (int i = 0; i < p->axis_count; i++) all = append(all, "%s%s,", p->axes[i].key);
    all = append(all, "%sseed,%s\n", header);
    for (int i = 0; i < sweep_plan_runs(p); i++) {
        char *line = run_line(p, &results[i], i / p->seeds, i % p->seeds);
        all = append(all, "%s%s", line);
        free(line);
    }
    int code = all && path ? output_replace_file(path, all) : cli_fail_memory();
    free(all);
    free(path);
    return code;
}

/* Settings from the best one on, as many as can be told apart. */
static int draw(const call *c, const sweep_plan *p, const sweep_result *results, const sweep_score *scores,
                int scored, const char *folder) {
    enum { MOST = 24 };
    int shown = scored < MOST ? scored : MOST, code = CLI_OK;
    char *words[MOST] = {0}, *path = output_path_in(folder, "sweep.png");
    double *values = malloc((size_t)(shown * p->seeds) * sizeof *values);
    if (!path || !values) code = cli_fail_memory();
    for (int i = 0; i < shown && code == CLI_OK; i++) {
        words[i] = sweep_plan_words(p, scores[i].setting);
        if (!words[i]) code = cli_fail_memory();
        for (int k = 0; k < p->seeds; k++) {
            const sweep_result *r = &results[scores[i].setting * p->seeds + k];
            values[i * p->seeds + k] = r->done ? r->loss : NAN;
        }
    }
    jf_groups groups = {.size = sizeof groups,
                        .count = (size_t)shown,
                        .each = (size_t)p->seeds,
                        .labels = (const char *const *)words,
                        .values = values,
                        .value_label = "loss",
                        .title = "settings from the best one on"};
    if (code == CLI_OK && jf_draw_groups(c->ctx, &groups, path) != JF_OK) code = cli_fail_library(c);
    for (int i = 0; i < shown; i++) free(words[i]);
    free(values);
    free(path);
    return code;
}

int sweep_write(const call *c, const sweep_plan *p, const sweep_result *results, const char *folder) {
    sweep_score *scores = calloc((size_t)p->settings, sizeof *scores);
    if (!scores) return cli_fail_memory();
    int scored = sweep_scores(p, results, scores), code = write_table(p, results, folder);
    if (code == CLI_OK && scored > 0) code = draw(c, p, results, scores, scored, folder);
    free(scores);
    return code;
}
