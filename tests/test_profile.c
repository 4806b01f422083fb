/* Profiles: what a device tells about its time, and what jf_bench() makes of it. */
#include "device_contract.h"

#include "jointflow/jointflow.h"

/* ---- devices ---- */

void check_profile(const bench *b) {
    device *d = b->tested->d;
    const device_kind *kind = d->kind;
    profile_part part;
    CHECK(!kind->profile_start == !kind->profile_read);
    if (!kind->profile_start) return;
    CHECK(!kind->profile_read(d, 0, &part)); /* off before it is asked for */
    CHECK_STATUS(kind->profile_start(d), JF_OK);
    (kind->plan_open ? compare_dense_coupling : check_dense_layer)(b);
    int count = 0;
    double calls = 0, flops = 0;
    for (; kind->profile_read(d, count, &part); count++) {
        CHECK(part.name && part.seconds >= 0 && part.flops >= 0);
        CHECK(part.calls > 0 || part.flops == 0);
        calls += part.calls;
        flops += part.flops;
    }
    CHECK(count > 1 && calls > 0 && flops > 0);
    CHECK(!kind->profile_read(d, -1, &part) && !kind->profile_read(d, count + 1, &part));
    CHECK_STATUS(kind->profile_start(d), JF_OK); /* from zero */
    for (int i = 0; i < count - 1; i++) {
        CHECK(kind->profile_read(d, i, &part));
        CHECK(part.seconds == 0 && part.calls == 0 && part.flops == 0);
    }
    if (!kind->record) return;
    check_recording(b); /* what is recorded is measured part by part all the same */
    calls = 0;
    for (int i = 0; kind->profile_read(d, i, &part); i++) calls += part.calls;
    CHECK(calls >= 4 * 2); /* replays, and operations of each */
}

TEST(profile__results_have_the_same_bits_as_without) {
    FOR_EACH_DEVICE (i) {
        if (!device_kinds[i]->profile_start || !device_kinds[i]->plan_open) continue;
        bench b = {lab_open(device_kinds[i]->name, 2), lab_open(device_kinds[i]->name, 2), 0};
        CHECK_STATUS(b.tested->d->kind->profile_start(b.tested->d), JF_OK);
        compare_dense_coupling(&b);
        check_image_coupling(&b);
        lab_close(b.ref);
        lab_close(b.tested);
    }
}

/* ---- speed ---- */

static const char of_vectors[] = "[data]\nset = crescents\n[model]\nblocks = 1\ndepth = 2\nwidth = 8\n"
                                 "[train]\nbatch = 50\n";
static const char of_images[] = "[data]\nset = images\nimages = glyphs\nclasses = ring square\nlimit = 20\n"
                                "[model]\nnet = resnext\nblocks = 1\nkernels = 4\ncardinality = 2\n"
                                "residual = 1\nnorm = channel\n[train]\nbatch = 5\n";

static jf_bench_result bench_on(const char *device_name, const char *content, int threads, int profile) {
    jf_context *ctx = NULL;
    jf_recipe *r = NULL;
    jf_bench_result result = {.size = sizeof(jf_bench_result)};
    jf_bench_options options = {.size = sizeof(jf_bench_options),
                                .device = device_name,
                                .threads = threads,
                                .seconds = 0.02,
                                .profile = profile};
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(jf_recipe_parse(&r, ctx, content, "test.recipe"), JF_OK);
    CHECK_STATUS(jf_bench(&result, ctx, r, &options), JF_OK);
    jf_recipe_free(r);
    jf_context_free(ctx);
    return result;
}

static jf_bench_result bench_of(const char *content, int threads, int profile) {
    return bench_on(NULL, content, threads, profile);
}

static const jf_profile_part *part_of(const jf_profile *p, const char *name) {
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->parts[i].name, name) == 0) return &p->parts[i];
    return NULL;
}

static void check_shares(const jf_profile *p) {
    double shares = 0, ms = 0;
    CHECK(p->count > 1);
    for (size_t i = 0; i < p->count; i++) {
        const jf_profile_part *part = &p->parts[i];
        int last = i == p->count - 1;
        CHECK(last ? part->calls == 0 : part->calls > 0);
        CHECK(part->ms >= 0 && part->share >= 0 && part->gflops >= 0);
        if (i > 0 && !last) CHECK(part->ms <= p->parts[i - 1].ms);
        shares += part->share;
        ms += part->ms;
    }
    CHECK_NEAR(shares, 1, 1e-9);
    CHECK_NEAR(ms, p->ms, 1e-9 * ms);
    CHECK_TEXT(p->parts[p->count - 1].name, "rest: waiting, host");
}

/* Calls of a part in a step: of training, and of sampling, where 0 means that it is not there. */
static void check_part(const jf_bench_result *r, const char *name, double trained, double sampled) {
    const jf_profile_part *part = part_of(&r->train_profile, name);
    if (!part) test_fail(__FILE__, __LINE__, "the profile of training lacks \"%s\"", name);
    CHECK_NEAR(part->calls, trained, 1e-9 * trained);
    part = part_of(&r->sample_profile, name);
    CHECK_NEAR(part ? part->calls : 0, sampled, 1e-9 * trained);
}

TEST(profile__of_vectors_adds_up_and_counts_its_layers) {
    for (int threads = 1; threads <= 2; threads++) {
        jf_bench_result r = bench_of(of_vectors, threads, 1);
        check_shares(&r.train_profile);
        check_shares(&r.sample_profile);
        const double couplings = 6 /* of one block */, products = couplings * 2 * 3, slices = 3;
        check_part(&r, "dense layers, forward", products * slices, products * slices);
        check_part(&r, "dense layers, dx", products * slices, 0);
        check_part(&r, "dense layers, dw", products * slices, 0);
        check_part(&r, "laws, backward", couplings * slices, 0);
        check_part(&r, "sums of gradients", products, 0);
        CHECK(part_of(&r.train_profile, "dense layers, dw")->gflops > 0);
        CHECK(part_of(&r.train_profile, "sums of gradients")->gflops == 0);
        CHECK(!part_of(&r.train_profile, "1x1 products, forward"));
        jf_bench_result_free(&r);
    }
}

TEST(profile__of_images_adds_up_and_counts_its_layers) {
    for (int threads = 1; threads <= 2; threads++) {
        jf_bench_result r = bench_of(of_images, threads, 1);
        check_shares(&r.train_profile);
        check_shares(&r.sample_profile);
        const jf_profile_part *norms = part_of(&r.train_profile, "layer norms, forward");
        CHECK(norms && norms->calls > 0);
        double residuals = norms->calls / 4; /* three norms each, and the last of their network */
        check_part(&r, "layer norms, backward", 2 * norms->calls, 0);
        check_part(&r, "1x1 products, forward", 2 * residuals, 2 * residuals);
        check_part(&r, "1x1 products, dx", 2 * residuals, 0);
        check_part(&r, "1x1 products, dw", 2 * residuals, 0);
        /* the first one of a network is computed again in the backward pass */
        check_part(&r, "first and last convolutions, forward", 3 * residuals, 2 * residuals);
        check_part(&r, "first and last convolutions, dx", 2 * residuals, 0);
        CHECK(part_of(&r.train_profile, "3x3 convolutions, dw")->gflops > 0);
        CHECK(!part_of(&r.train_profile, "dense layers, forward"));
        jf_bench_result_free(&r);
    }
}

TEST(profile__of_a_gpu_adds_up_and_counts_its_layers) {
    const device_kind *gpu = NULL;
    for (int i = 0; device_kinds[i]; i++)
        if (strcmp(device_kinds[i]->name, "cuda") == 0) gpu = device_kinds[i];
    if (!gpu) SKIP("this build has no cuda device");
    skip_missing_device(gpu);
    jf_bench_result r = bench_on("cuda", of_vectors, 1, 1);
    check_shares(&r.train_profile);
    check_shares(&r.sample_profile);
    const double couplings = 6 /* of one block */;
    check_part(&r, "networks, forward", couplings, couplings);
    check_part(&r, "networks, backward", couplings, 0);
    check_part(&r, "networks, gradients of weights", couplings, 0);
    check_part(&r, "optimiser", 1, 0);
    CHECK(part_of(&r.train_profile, "networks, backward")->gflops > 0);
    CHECK(part_of(&r.train_profile, "networks, backward")->ms > 0);
    jf_bench_result_free(&r);
}

TEST(profile__is_there_only_where_asked_for) {
    jf_bench_result r = bench_of(of_vectors, 1, 0);
    CHECK(r.train_profile.count == 0 && !r.train_profile.parts);
    CHECK(r.sample_profile.count == 0 && !r.sample_profile.parts);
    CHECK(r.train_samples_per_s > 0 && r.sample_samples_per_s > 0);
    jf_bench_result_free(&r);
}

TEST(profile__of_a_device_that_has_none_is_refused) {
    jf_context *ctx = NULL;
    jf_recipe *r = NULL;
    jf_bench_result result = {.size = sizeof(jf_bench_result)};
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(jf_recipe_parse(&r, ctx, of_vectors, "test.recipe"), JF_OK);
    jf_bench_options options = {
        .size = sizeof(jf_bench_options), .device = "ref", .seconds = 0.01, .profile = 1};
    CHECK_STATUS(jf_bench(&result, ctx, r, &options), JF_ERROR_DEVICE);
    CHECK_HAS(jf_context_error(ctx), "device ref");
    options.profile = 0;
    CHECK_STATUS(jf_bench(&result, ctx, r, &options), JF_OK);
    jf_bench_result_free(&result);
    jf_recipe_free(r);
    jf_context_free(ctx);
}
