/* What a training run will hold in memory, told before it starts. */
#include "train/memory.h"
#include <string.h>

#define FLAT_COPIES     8 /* weights, gradients, two moments, best weights, and the three of an epoch's start */
#define WRITTEN_COPIES  7 /* that a checkpoint holds in the file's form while it is written */
#define GRADIENT_PARTS  9 /* partial sums and packed weights of one layer, at most, on the devices there are */
#define LATENT_POINTS   10000
#define NAME_OF_A_LAYER 9 /* "layer.000" */

/* Numbers of the layer that has most. */
static size_t largest_layer(const param_list *list) {
    size_t most = 0, sum = 0;
    for (int i = 0; i < list->count; i++) {
        int same = i > 0 && strncmp(list->items[i].name, list->items[i - 1].name, NAME_OF_A_LAYER) == 0;
        sum = (same ? sum : 0) + list->items[i].count;
        if (sum > most) most = sum;
    }
    return most;
}

/* As flow_run_keep() takes them: from the last layer on, those that still fit. */
static double kept_bytes(const model *m, int n) {
    const flow *f = m->flow;
    double room = recipe_real(m->recipe, "train.keep") * 1048576, left = room;
    for (int i = f->layers - 1; i >= 0; i--) {
        const transform *t = &f->chain[i];
        double bytes = t->kind->kept ? (double)(t->kind->kept(t, m->d, n) * m->d->kind->real_size) : 0;
        if (bytes <= left) left -= bytes;
    }
    return room - left;
}

train_memory train_memory_of(const model *m, const dataset *data) {
    const flow *f = m->flow;
    int n = recipe_int(m->recipe, "train.batch");
    double size = (double)m->d->kind->real_size, total = (double)f->params.total,
           numbers = (double)n * f->dim;
    train_memory memory = {0};
    memory.weights = total * size * FLAT_COPIES;
    memory.checkpoint = total * (size * WRITTEN_COPIES + sizeof(double));
    memory.passes = size * ((double)flow_workspace(f, n) + 3 * numbers +
                            GRADIENT_PARTS * (double)largest_layer(&f->params)) +
                    3 * sizeof(double) * numbers;
    memory.kept = kept_bytes(m, n);
    if (recipe_int(m->recipe, "train.ks_every") && m->objective.kind->from_data)
        memory.histograms = (double)LATENT_POINTS * f->dim_x * sizeof(double);
    memory.data = data ? (double)data->bytes : 0;
    memory.total =
        memory.weights + memory.checkpoint + memory.passes + memory.kept + memory.histograms + memory.data;
    return memory;
}
