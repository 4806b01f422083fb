/* The profile of the cpu device: the meters of all workers, summed, and the time that none of them saw. */
#include "compute/cpu/meter.h"
#include "base/memory.h"
#include "compute/cpu/cpu.h"
#include <string.h>

static const char *const names[METER_COUNT] = {
#define PART(id, name) [id] = name,
    METER_PARTS(PART)
#undef PART
};

jf_status cpu_profile_start(device *d) {
    cpu_device *own = d->own;
    size_t workers = (size_t)pool_threads(own->pool);
    if (!own->meters) JF_TRY(MEM_NEW(d->ctx, &own->meters, workers));
    memset(own->meters, 0, sizeof *own->meters * workers);
    own->metered_since = meter_clock();
    return JF_OK;
}

static profile_part sum_of(const cpu_device *own, int part) {
    profile_part sum = {.name = names[part]};
    for (int i = 0; i < pool_threads(own->pool); i++) {
        sum.seconds += own->meters[i].parts[part].seconds;
        sum.flops += own->meters[i].parts[part].flops;
        sum.calls += (double)own->meters[i].parts[part].calls;
    }
    return sum;
}

int cpu_profile_read(const device *d, int part, profile_part *out) {
    const cpu_device *own = d->own;
    if (!own->meters || part < 0 || part > METER_COUNT) return 0;
    if (part < METER_COUNT) {
        *out = sum_of(own, part);
        return 1;
    }
    double whole = (meter_clock() - own->metered_since) * pool_threads(own->pool);
    *out = (profile_part){.name = "rest: waiting, host", .seconds = whole};
    for (int i = 0; i < METER_COUNT; i++) out->seconds -= sum_of(own, i).seconds;
    return 1;
}
