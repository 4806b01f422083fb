/* Instructions of the GPU that C++ has no words for, and shared memory of the size that a launch asks for.
 * Tests have all of these for threads of their own, on machines without a GPU
 * (tests/emulated/instructions.h). */
#ifndef JF_COMPUTE_CUDA_INSTRUCTIONS_CUH
#define JF_COMPUTE_CUDA_INSTRUCTIONS_CUH

#define LAUNCH_MEMORY extern __shared__ __align__(16) char memory[]
#define LAUNCH_FLOATS extern __shared__ __align__(16) float memory[]
/* Shared memory of a fixed size, in kernels whose blocks form clusters. */
#define CLUSTER_MEMORY(type, name, extent) __shared__ __align__(8) type name extent

/* What the kernels launched before have written is there: of a kernel that begins early. */
static __device__ inline void after_the_last() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

static __device__ inline unsigned shared_address(const void *p) {
    return (unsigned)__cvta_generic_to_shared(p);
}
static __device__ inline unsigned load_word(unsigned address) {
    unsigned v;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(address));
    return v;
}
static __device__ inline uint2 load_words(unsigned address) {
    uint2 v;
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "r"(address));
    return v;
}
static __device__ inline void store_word(unsigned address, unsigned v) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(v) : "memory");
}
/* 16 bytes of global memory on their way to shared memory; zeros where `present` is 0. */
static __device__ inline void copy_16(unsigned to, const void *from, int present) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(present ? 16 : 0));
}
static __device__ inline void commit_copies() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
static __device__ inline void wait_for_copies() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}
/* All copies but those that were committed last have arrived. */
static __device__ inline void wait_for_earlier_copies() {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
}
/* All of so many threads are there. */
static __device__ inline void meet(int barrier, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
/* Four 8x8 matrices of 16 bits, or 8x4 of 32: lane l gives the address of a row of matrix l / 8, and gets of
 * each matrix the 32 bits at row lane / 4, place lane % 4. */
static __device__ inline void load_matrices(unsigned r[4], unsigned address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address));
}
/* The same of two. */
static __device__ inline void load_half(unsigned a[2], unsigned address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(a[0]), "=r"(a[1])
                 : "r"(address));
}
/* Matrices of 16 bits, each transposed. */
static __device__ inline void load_transposed(unsigned r[4], unsigned address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address));
}
static __device__ inline void load_two_transposed(unsigned r[2], unsigned address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(address));
}
/* Where `wanted`, which is the same for all of a warp; otherwise r stays as it is. */
static __device__ inline void load_two_transposed_if(int wanted, unsigned r[2], unsigned address) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %3, 0;"
                 " @p ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2]; }"
                 : "+r"(r[0]), "+r"(r[1])
                 : "r"(address), "r"(wanted));
}
/* C (16, 8) += A (16, 16) B (16, 8) */
static __device__ inline void multiply_bf16(float c[4], const unsigned a[4], const unsigned b[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
/* C (16, 8) += A (16, 8) B (8, 8) */
static __device__ inline void multiply_half(float c[4], const unsigned a[2], unsigned b) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(b));
}
/* The same in tf32. */
static __device__ inline void multiply_tf32(float c[4], const unsigned a[4], const unsigned b[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
/* The same, which may be moved, and factors one by one. */
static __device__ __forceinline__ void tensor_product(float (&sum)[4], uint32_t a0, uint32_t a1, uint32_t a2,
                                                      uint32_t a3, uint32_t b0, uint32_t b1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
/* x g + b of two numbers of bf16 at once, each rounded once. */
static __device__ inline unsigned scaled_pair(unsigned x, unsigned g, unsigned b) {
    unsigned r;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(g), "r"(b));
    return r;
}
static __device__ inline float nearest_tf32(float v) {
    unsigned r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
    return __uint_as_float(r);
}

/* ---- clusters of thread blocks, on GPUs from 9.0 on ---- */

static __device__ inline unsigned in_block(unsigned address, int rank) {
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}
static __device__ inline void send_8(unsigned to, float a, float b, unsigned barrier) {
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(to),
        "f"(a), "f"(b), "r"(barrier)
        : "memory");
}
static __device__ inline void send_16(unsigned to, uint4 v, unsigned barrier) {
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
            to),
        "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "r"(barrier)
        : "memory");
}
static __device__ inline void barrier_open(unsigned barrier) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barrier) : "memory");
}
static __device__ inline void barrier_expect(unsigned barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
static __device__ inline void barrier_wait(unsigned barrier, int parity) {
    asm volatile("{ .reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again; }" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}
static __device__ inline void meet_cluster() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

#endif
