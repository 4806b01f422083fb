/* Copies to shared memory, by the names of CUDA's C++. */
#ifndef JF_TESTS_EMULATED_CUDA_PIPELINE_H
#define JF_TESTS_EMULATED_CUDA_PIPELINE_H

#include "machine.h"

static inline void __pipeline_memcpy_async(void *to, const void *from, size_t bytes) {
    emulated::copy(to, from, bytes);
}
static inline void __pipeline_commit() {
    emulated::commit_copies();
}
static inline void __pipeline_wait_prior(size_t groups) {
    emulated::wait_for_copies(groups);
}

#endif
