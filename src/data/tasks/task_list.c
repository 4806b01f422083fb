/* The list of tasks: a new one is a file in this folder that defines `task_NAME`, and one line here. */
#include "base/memory.h"
#include "data/images/image_set.h"
#include "data/tasks/task.h"
#include <limits.h>
#include <stdlib.h>

#define TASK_LIST(X)                                                                                         \
    X(class)                                                                                                 \
    X(superres)                                                                                              \
    X(blur)                                                                                                  \
    X(motion)                                                                                                \
    X(noise)                                                                                                 \
    X(occlusion)                                                                                             \
    X(colour)

#define X(name) extern const task_kind task_##name;
TASK_LIST(X)
#undef X

const task_kind *const task_kinds[] = {
#define X(name) &task_##name,
    TASK_LIST(X)
#undef X
        NULL};

/* " class superres ..." */
#define X(name) " " #name
static const char names_after_spaces[] = TASK_LIST(X);
#undef X

static const recipe_key common_keys[] = {
    {"data", "task", KEY_CHOICE, "class", 0, 0, &names_after_spaces[1],
     "What to learn of an image: from its class, or from a degraded version of it."},
    {0}};

jf_status task_declare(recipe *r) {
    JF_TRY(recipe_declare(r, common_keys, "data.set=images"));
    for (int i = 0; task_kinds[i]; i++)
        JF_TRY(recipe_declare_choice(r, "data.task", task_kinds[i]->name, task_kinds[i]->keys));
    return JF_OK;
}

/* ---- a task's life ---- */

static const task_kind *find_kind(const recipe *r) {
    for (int i = 0; task_kinds[i]; i++)
        if (recipe_is(r, "data.task", task_kinds[i]->name)) return task_kinds[i];
    return NULL;
}

jf_status task_create(jf_context *ctx, task **out, const recipe *r, int h, int w, int channels) {
    *out = NULL;
    const task_kind *kind = find_kind(r);
    if (!kind) return recipe_fail(r, "data.task", "expected one of %s", common_keys[0].choices);
    JF_TRY(image_check_size(ctx, recipe_name(r), (size_t)h, (size_t)w, (size_t)channels));
    task *t;
    JF_TRY(MEM_NEW(ctx, &t, 1));
    *t = (task){
        .ctx = ctx,
        .kind = kind,
        .h = h,
        .w = w,
        .channels = channels,
        .size = {h, w, channels, channels},
        .image_channels = channels,
        .input_h = h,
        .input_w = w,
        .input_channels = channels,
    };
    jf_status status = kind->open(t, r);
    if (status == JF_OK)
        *out = t;
    else
        task_free(t);
    return status;
}

/* Every task's x has the channels of the image. */
jf_status task_of_size(jf_context *ctx, task **out, const recipe *r, image_size size) {
    const task_kind *kind = find_kind(r);
    int reduction = kind && kind->reduction ? kind->reduction(r) : 1;
    if (size.h > INT_MAX / reduction || size.w > INT_MAX / reduction)
        return jf_fail(ctx, JF_ERROR_SHAPE, "images of %dx%d cannot have been %d times as large", size.h,
                       size.w, reduction);
    JF_TRY(task_create(ctx, out, r, size.h * reduction, size.w * reduction, size.x_channels));
    if ((*out)->planes) (*out)->size.y_channels = size.y_channels;
    int y_channels = (*out)->size.y_channels;
    if (y_channels == size.y_channels) return JF_OK;
    task_free(*out);
    *out = NULL;
    return jf_fail(ctx, JF_ERROR_SHAPE, "y has %d channels, expected %d for data.task = %s", size.y_channels,
                   y_channels, kind->name);
}

void task_free(task *t) {
    if (!t) return;
    if (t->kind->close) t->kind->close(t);
    free(t);
}
