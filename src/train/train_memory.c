#include "train/train_memory.h"
#include "base/number.h"
#include <math.h>

#define MIB            1048576.0
#define FLAT_COPIES    8 /* weights, gradients, two moments, best weights, and the three of an epoch's start */
#define WRITTEN_COPIES 7 /* that a checkpoint holds in the file's form while it is written */

/* ---- train.keep ---- */

#define KEEP_OF_HOST   700.0  /* MiB: a run leaves most of a small machine to others */
#define KEEP_OF_DEVICE 6144.0 /* at most, and */
#define KEEP_SHARE     5      /* so little of all its memory */

/* Of a device's whole memory, not of what happens to be free: which layers are kept may change the last bits,
 * and two runs are to be the same. */
double train_keep(const recipe *r, const device *d) {
    double given = recipe_real(r, "train.keep");
    size_t left, all;
    if (!isnan(given)) return given;
    if (!d->kind->memory) return KEEP_OF_HOST;
    d->kind->memory(d, &left, &all);
    return fmin(KEEP_OF_DEVICE, floor((double)all / KEEP_SHARE / MIB));
}

/* ---- counting ---- */

/* Values and, of classes, the tables by which they take turns. */
static double resident_bytes(const model *m, const dataset *data) {
    resident_data resident;
    if (!data || !m->d->kind->memory || !m->d->kind->data_open || !dataset_resident(data, &resident))
        return 0;
    double rows = (double)(resident.rows + resident.validation_rows),
           value = resident.bytes ? 1 : (double)m->d->kind->real_size;
    return rows * resident.width * value +
           (resident.classes ? rows + (double)resident.rows * sizeof(long) : 0);
}

static train_memory memory_with(const model *m, const dataset *data, double keep_mib) {
    const flow *f = m->flow;
    run_use use = train_run_use(m);
    use.keep_mib = keep_mib;
    int n = recipe_int(m->recipe, "train.batch");
    double size = (double)m->d->kind->real_size, total = (double)m->parameters.total,
           numbers = (double)n * f->dim;
    run_size layers = flow_run_size(f, n, use, 1, NULL);
    int copies = FLAT_COPIES + (recipe_real(m->recipe, "train.weight_decay") > 0) +
                 2 * (recipe_real(m->recipe, "train.average") > 0);
    train_memory memory = {.weights = total * size * copies,
                           .model = total * size,
                           .passes = size * ((double)layers.scratch + 3 * numbers),
                           .saved = size * (double)layers.saved,
                           .resident = resident_bytes(m, data),
                           .checkpoint = total * (size * WRITTEN_COPIES + sizeof(double)),
                           .batches = 3 * sizeof(double) * numbers,
                           .data = data ? (double)data->bytes : 0};
    if (recipe_int(m->recipe, "train.ks_every") && m->objective.kind->from_data)
        memory.histograms = (double)TRAIN_KS_POINTS * f->dim_x * sizeof(double);
    memory.device = memory.weights + memory.passes + memory.saved + memory.resident;
    memory.host = memory.checkpoint + memory.batches + memory.histograms + memory.data;
    return memory;
}

train_memory train_memory_of(const model *m, const dataset *data) {
    return memory_with(m, data, train_keep(m->recipe, m->d));
}

/* Bytes that the device lacks for it; the weights are there already. */
static double missing_of(const train_memory *k, double left) {
    return k->device - k->model - left;
}

/* ---- telling ---- */

static void tell_host(const model *m, const train_memory *k) {
    jf_log(m->ctx,
           "memory: about %.0f MiB (weights and optimiser %.0f, saved activations %.0f, batches and scratch "
           "%.0f, data %.0f)",
           (k->device + k->host) / MIB, (k->weights + k->checkpoint) / MIB, k->saved / MIB,
           (k->passes + k->batches + k->histograms) / MIB, k->data / MIB);
}

/* MiB to keep with which it fits, if there are; layers that are not kept need scratch, so that one try may
 * not do. */
static double fitting_keep(const model *m, const dataset *data, double keep, double left) {
    while (keep >= 0) {
        train_memory k = memory_with(m, data, keep);
        double missing = missing_of(&k, left);
        if (missing <= 0) return keep;
        if (k.saved == 0) break;
        keep = floor((k.saved - missing) / MIB);
    }
    train_memory least = memory_with(m, data, 0);
    return missing_of(&least, left) <= 0 ? 0 : -1;
}

static jf_status refuse(const model *m, const dataset *data, const train_memory *k, double left, double all) {
    double keep = train_keep(m->recipe, m->d), enough = fitting_keep(m, data, keep, left);
    int batch = recipe_int(m->recipe, "train.batch");
    char advice[160];
    if (enough >= 0)
        format_text(advice, sizeof advice,
                    "set train.keep to at most %.0f instead of %.0f, or lower train.batch, which is %d",
                    enough, keep, batch);
    else
        format_text(advice, sizeof advice, "lower train.batch, which is %d%s", batch,
                    k->saved > 0 ? ", and set train.keep = 0" : "");
    return jf_fail(
        m->ctx, JF_ERROR_MEMORY,
        "device %s: the run would take about %.0f MiB of its memory, of which %.0f of %.0f MiB are "
        "free: %s",
        m->d->kind->name, k->device / MIB, left / MIB, all / MIB, advice);
}

jf_status train_tell_memory(const model *m, const dataset *data) {
    train_memory k = train_memory_of(m, data);
    size_t left = 0, all = 0;
    if (!m->d->kind->memory) {
        tell_host(m, &k);
        return JF_OK;
    }
    m->d->kind->memory(m->d, &left, &all);
    JF_TRY(m->d->kind->status(m->d));
    if (missing_of(&k, (double)left) > 0) return refuse(m, data, &k, (double)left, (double)all);
    jf_log(m->ctx,
           "memory: about %.0f MiB of the device's %.0f (weights and optimiser %.0f, saved activations %.0f, "
           "batches and scratch %.0f, data %.0f), %.0f of the host",
           k.device / MIB, (double)all / MIB, k.weights / MIB, k.saved / MIB, k.passes / MIB,
           k.resident / MIB, k.host / MIB);
    return JF_OK;
}
