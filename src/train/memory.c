/* What a training run will hold in memory, told before it starts. */
#include "train/memory.h"
#include <string.h>

#define FLAT_COPIES     8 /* weights, gradients, two moments, best weights, and the three of an epoch's start */
#define WRITTEN_COPIES  7 /* that a checkpoint holds in the file's form while it is written */
#define GRADIENT_PARTS  9 /* partial sums and packed weights of one layer, at most, on the devices there are */
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

train_memory train_memory_of(const model *m, const dataset *data) {
    const flow *f = m->flow;
    int n = recipe_int(m->recipe, "train.batch");
    double size = (double)m->d->kind->real_size, total = (double)m->parameters.total,
           numbers = (double)n * f->dim;
    train_memory memory = {0};
    memory.weights = total * size * FLAT_COPIES;
    memory.checkpoint = total * (size * WRITTEN_COPIES + sizeof(double));
    memory.passes = size * ((double)flow_workspace(f, n) + 3 * numbers +
                            GRADIENT_PARTS * (double)largest_layer(&m->parameters)) +
                    3 * sizeof(double) * numbers;
    memory.kept = size * (double)flow_kept(f, n, recipe_real(m->recipe, "train.keep"), NULL);
    if (recipe_int(m->recipe, "train.ks_every") && m->objective.kind->from_data)
        memory.histograms = (double)TRAIN_KS_POINTS * f->dim_x * sizeof(double);
    memory.data = data ? (double)data->bytes : 0;
    memory.total =
        memory.weights + memory.checkpoint + memory.passes + memory.kept + memory.histograms + memory.data;
    return memory;
}
