/* Sums over the devices of several ranks, as far as one device can tell: with one rank they are what was
 * there. */
#include "device_contract.h"

typedef struct group_work {
    device *d;
    device_group *group;
    real *values;
    scalar *from, *to;
} group_work;

static void add_up(void *arg) {
    const group_work *w = arg;
    const device_kind *k = w->d->kind;
    k->add(w->d, w->values, w->values, 1000);
    k->group_sum(w->d, w->group, w->values, 1000);
    k->group_sum_scalars(w->d, w->group, w->to, w->from, 3);
}

static void check_added(const group_work *w, const double *x, double factor, const double *scalars) {
    const device_kind *k = w->d->kind;
    double found[1000], sums[3];
    k->get(w->d, found, w->values, 1000);
    k->get_scalars(w->d, sums, w->to, 3);
    CHECK_STATUS(k->status(w->d), JF_OK);
    CHECK(k->group_done(w->d, w->group) == 1);
    for (int i = 0; i < 1000; i++) CHECK(found[i] == factor * x[i]);
    for (int i = 0; i < 3; i++) CHECK(sums[i] == scalars[i]);
}

void check_group(const bench *b) {
    device *d = b->tested->d;
    const device_kind *k = d->kind;
    const double scalars[] = {1e-300, 0.1, -7};
    char id[DEVICE_GROUP_ID];
    device_recording *r = NULL;
    if (!k->group_open) return;
    if (k->group_id(d, id) != JF_OK) SKIP(jf_context_error(d->ctx));
    double *x = draw_normal(1000, 1, 17);
    group_work w = {.d = d, .values = lab_put(b->tested, x, 1000)};
    CHECK_STATUS(k->alloc_scalars(d, &w.from, 3), JF_OK);
    CHECK_STATUS(k->alloc_scalars(d, &w.to, 3), JF_OK);
    k->put_scalars(d, w.from, scalars, 3);
    CHECK_STATUS(k->group_open(d, &w.group, id, 0, 1), JF_OK);
    add_up(&w);
    check_added(&w, x, 2, scalars);
    if (k->record) {
        CHECK_STATUS(k->record(d, &r, add_up, &w), JF_OK);
        k->replay(d, r);
        k->replay(d, r);
        check_added(&w, x, 8, scalars);
        k->recording_free(d, r);
    }
    k->group_close(d, w.group, 0);
    k->release_scalars(d, w.from);
    k->release_scalars(d, w.to);
    CHECK_STATUS(k->status(d), JF_OK);
    free(x);
    lab_clear(b->tested);
}
