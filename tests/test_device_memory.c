/* A device whose memory ends: whatever it has none for, a run ends with one sentence, gives back what it
 * took, and what was saved before can be resumed. */
#include "train/bench.h"
#include "train_fixture.h"

extern const device_kind device_cpu;

/* ---- a device whose memory ends ---- */

static struct {
    long asked, fail_at; /* which allocation finds none, from 1; 0: none does */
    long held;           /* of the device's, at the moment */
    size_t most;         /* numbers at once; 0: any */
} own;

static int ends(size_t count) {
    return ++own.asked == own.fail_at || (own.most > 0 && count > own.most);
}

static jf_status no_memory(device *d, size_t count) {
    return jf_fail(d->ctx, JF_ERROR_MEMORY, "small device: no memory for %zu numbers", count);
}

static jf_status small_alloc(device *d, real **out, size_t count) {
    *out = NULL;
    if (ends(count)) return no_memory(d, count);
    own.held++;
    return device_cpu.alloc(d, out, count);
}
static void small_release(device *d, real *p) {
    if (p) own.held--;
    device_cpu.release(d, p);
}
static jf_status small_alloc_map(device *d, int32_t **out, const int32_t *host, size_t count) {
    *out = NULL;
    if (ends(count)) return no_memory(d, count);
    own.held++;
    return device_cpu.alloc_map(d, out, host, count);
}
static void small_release_map(device *d, int32_t *map) {
    if (map) own.held--;
    device_cpu.release_map(d, map);
}
static jf_status small_alloc_scalars(device *d, scalar **out, size_t count) {
    *out = NULL;
    if (ends(count)) return no_memory(d, count);
    own.held++;
    return device_cpu.alloc_scalars(d, out, count);
}
static void small_release_scalars(device *d, scalar *p) {
    if (p) own.held--;
    device_cpu.release_scalars(d, p);
}

static device_kind small_device(void) {
    device_kind kind = device_cpu;
    kind.alloc = small_alloc;
    kind.release = small_release;
    kind.alloc_map = small_alloc_map;
    kind.release_map = small_release_map;
    kind.alloc_scalars = small_alloc_scalars;
    kind.release_scalars = small_release_scalars;
    memset(&own, 0, sizeof own);
    return kind;
}

/* ---- runs ---- */

static void stop_in_training(run *r, const jf_training *p) {
    if (strcmp(p->phase, "train") == 0 && p->epoch == 2 && p->batch == 2) r->stop = 1;
}

static char *bytes_of(const char *path, size_t *size) {
    jf_context *ctx = NULL;
    char *bytes = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(file_read(ctx, &bytes, size, path, 1 << 24), JF_OK);
    jf_context_free(ctx);
    return bytes;
}

static long allocations_of_resuming(const device_kind *kind, const char *folder) {
    run *r = run_open_on(tiny, kind, 1);
    long before = own.asked;
    r->watch = stop_in_training; /* at once: it is there already */
    jf_status status = run_train(r, folder, 1);
    CHECK(status == JF_OK || status == JF_STOPPED);
    long asked = own.asked - before;
    run_close(r);
    return asked;
}

/* Each allocation of a run that goes on finds none, in turn. */
TEST(device_memory__that_ends_leaves_the_run_as_its_checkpoint_has_it) {
    device_kind kind = small_device();
    run *whole = run_open_on(tiny, &kind, 1), *stopped = run_open_on(tiny, &kind, 1);
    CHECK_STATUS(run_train(whole, test_path("whole"), 0), JF_OK);
    stopped->watch = stop_in_training;
    CHECK_STATUS(run_train(stopped, test_path("run"), 0), JF_STOPPED);
    run_close(stopped);
    size_t size, size_after;
    char *checkpoint = bytes_of(test_path("run/checkpoint.safetensors"), &size);
    CHECK_STATUS(file_make_folder(whole->ctx, test_path("probe")), JF_OK);
    copy_file(whole->ctx, test_path("run/checkpoint.safetensors"), test_path("probe/checkpoint.safetensors"));
    copy_file(whole->ctx, test_path("run/history.csv"), test_path("probe/history.csv"));
    long allocations = allocations_of_resuming(&kind, test_path("probe"));
    CHECK(allocations > 15);
    for (long i = 1; i <= allocations; i++) {
        run *r = run_open_on(tiny, &kind, 1);
        long held = own.held;
        own.fail_at = own.asked + i;
        CHECK_STATUS(run_train(r, test_path("run"), 1), JF_ERROR_MEMORY);
        CHECK_HAS(jf_context_error(r->ctx), "small device: no memory for ");
        CHECK(own.held == held); /* all that it took is given back */
        own.fail_at = 0;
        char *after = bytes_of(test_path("run/checkpoint.safetensors"), &size_after);
        CHECK(size_after == size && memcmp(after, checkpoint, size) == 0);
        free(after);
        run_close(r);
    }
    run *resumed = run_open_on(tiny, &kind, 1);
    CHECK_STATUS(run_train(resumed, test_path("run"), 1), JF_OK);
    check_same_end(whole, test_path("whole"), resumed, test_path("run"));
    free(checkpoint);
    run_close(whole), run_close(resumed);
    CHECK(own.held == 0);
}

/* The weights fit, what a batch needs does not. */
TEST(device_memory__too_large_a_batch_ends_the_run_before_its_first_step) {
    device_kind kind = small_device();
    char content[600];
    snprintf(content, sizeof content,
             "[data]\nset = crescents\n" TINY_MODEL "[train]\nbatch = 100000\nbatches = 2\nepochs = 1\n");
    own.most = 10000;
    run *r = run_open_on(content, &kind, 1);
    CHECK_STATUS(run_train(r, test_path("run"), 0), JF_ERROR_MEMORY);
    CHECK_HAS(jf_context_error(r->ctx), "small device: no memory for ");
    CHECK(strstr(jf_context_error(r->ctx), "holds the run") == NULL); /* nothing was saved */
    CHECK(r->reports == 0);
    run_close(r);
    CHECK(own.held == 0);
}

/* ---- a measurement that is stopped ---- */

typedef struct noted_work {
    void (*work)(void *arg);
    void *arg;
} noted_work;

static jf_status small_record(device *d, device_recording **out, void (*work)(void *arg), void *arg) {
    noted_work *noted;
    JF_TRY(MEM_NEW(d->ctx, &noted, 1));
    *noted = (noted_work){work, arg};
    *out = (device_recording *)noted;
    own.held++;
    return JF_OK;
}
static void small_replay(device *d, const device_recording *r) {
    const noted_work *noted = (const noted_work *)r;
    (void)d;
    noted->work(noted->arg);
}
static void small_recording_free(device *d, device_recording *r) {
    (void)d;
    own.held--;
    free(r);
}

static int stop_in(void *user, const jf_progress *p) {
    return strcmp(p->phase, user) == 0;
}

TEST(device_memory__of_a_measurement_that_is_stopped_is_given_back) {
    static char *const parts[] = {"speed of training", "speed of sampling"};
    device_kind kind = small_device();
    kind.record = small_record;
    kind.replay = small_replay;
    kind.recording_free = small_recording_free;
    for (int i = 0; i < 2; i++) {
        run *r = run_open_on(tiny, &kind, 1);
        long held = own.held;
        jf_bench_options options = {.batch = 20, .seconds = i == 0 ? 5 : 0.5};
        jf_bench_result result = {0};
        jf_context_set_progress(r->ctx, stop_in, parts[i]);
        CHECK_STATUS(bench_run(r->m, &options, &result), JF_STOPPED);
        CHECK_HAS(jf_context_error(r->ctx), parts[i]);
        CHECK(own.held == held && held > 0); /* recordings, too */
        run_close(r);
    }
    CHECK(own.held == 0);
}

/* ---- a device that is lost ---- */

static long status_calls, lost_after; /* 0: never */

static jf_status losing_status(device *d) {
    if (lost_after == 0 || ++status_calls < lost_after) return device_cpu.status(d);
    return jf_fail(d->ctx, JF_ERROR_DEVICE, "losing device: the GPU has fallen off the bus");
}

/* At any reading, and for good: the sentence says what is left and from where to go on. */
TEST(device__that_is_lost_for_good_leaves_a_run_that_can_be_resumed) {
    device_kind kind = device_cpu;
    kind.status = losing_status;
    int lost = 0, said = 0;
    run *whole = run_open(tiny);
    CHECK_STATUS(run_train(whole, test_path("whole"), 0), JF_OK);
    for (long at = 1; at < 60; at += ALL_CASES ? 3 : 5) {
        char folder[32];
        snprintf(folder, sizeof folder, "run%ld", at);
        run *r = run_open_on(tiny, &kind, 1), *resumed = run_open(tiny);
        status_calls = 0;
        lost_after = at;
        jf_status status = run_train(r, test_path(folder), 0);
        lost_after = 0;
        CHECK(status == JF_OK || status == JF_ERROR_DEVICE);
        const char *error = jf_context_error(r->ctx), *left = strstr(error, "; ");
        if (status == JF_ERROR_DEVICE) {
            lost++;
            CHECK(strncmp(error, "losing device: the GPU has fallen off the bus", 45) == 0);
            if (left) {
                said++;
                CHECK_HAS(left, folder);
                CHECK_HAS(left, " holds the run as it was after ");
                CHECK_STATUS(run_train(resumed, test_path(folder), 1), JF_OK);
                check_same_end(whole, test_path("whole"), resumed, test_path(folder));
            }
        }
        run_close(r), run_close(resumed);
    }
    CHECK(lost > 5 && said > 3 && said < lost);
    run_close(whole);
}
