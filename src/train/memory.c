/* What a training run will hold in memory, told before it starts. */
#include "train/memory.h"

#define FLAT_COPIES    8 /* weights, gradients, two moments, best weights, and the three of an epoch's start */
#define WRITTEN_COPIES 7 /* that a checkpoint holds in the file's form while it is written */
train_memory train_memory_of(const model *m, const dataset *data) {
    const flow *f = m->flow;
    int n = recipe_int(m->recipe, "train.batch");
    double size = (double)m->d->kind->real_size, total = (double)m->parameters.total,
           numbers = (double)n * f->dim;
    train_memory memory = {0};
    memory.weights = total * size * FLAT_COPIES;
    memory.checkpoint = total * (size * WRITTEN_COPIES + sizeof(double));
    run_size layers = flow_run_size(f, n, train_run_use(m), 1, NULL);
    memory.passes = size * ((double)layers.scratch + 3 * numbers) + 3 * sizeof(double) * numbers;
    memory.kept = size * (double)layers.kept;
    if (recipe_int(m->recipe, "train.ks_every") && m->objective.kind->from_data)
        memory.histograms = (double)TRAIN_KS_POINTS * f->dim_x * sizeof(double);
    memory.data = data ? (double)data->bytes : 0;
    memory.total =
        memory.weights + memory.checkpoint + memory.passes + memory.kept + memory.histograms + memory.data;
    return memory;
}
