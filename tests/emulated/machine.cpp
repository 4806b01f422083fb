/* How threads take turns, meet, and copy: machine.h. A fiber runs one thread after the other as long as these
 * do not wait; a thread that waits keeps its fiber, and another one goes on. */
#include "machine.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

constinit thread_local dim3 threadIdx, blockIdx, gridDim, blockDim;

namespace emulated {

enum { STACK_BYTES = 256 << 10, ADDRESS_BITS = 20, GUARD_BYTES = 4096 };

/* ---- contexts: stacks and where they go on ---- */

#ifdef __x86_64__ /* swapcontext() asks the kernel for the signals of each, at ten times the cost */
struct context {
    void *top;
};
extern "C" void emulated_switch(void **from, void *to);
asm(".text\n"
    ".type emulated_switch, @function\n"
    "emulated_switch:\n"
    "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
    "    movq %rsp, (%rdi)\n"
    "    movq %rsi, %rsp\n"
    "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
    "    ret\n"
    ".size emulated_switch, .-emulated_switch\n");
static void switch_to(context &from, context &to) {
    emulated_switch(&from.top, to.top);
}
static void begin_at(context &c, char *stack, size_t bytes, void (*f)()) {
    void **top = (void **)(stack + bytes) - 2; /* f finds its stack as if it had been called */
    *top = (void *)f;
    c.top = top - 6;
}
#else
struct context {
    ucontext_t all;
};
static void switch_to(context &from, context &to) {
    swapcontext(&from.all, &to.all);
}
static void begin_at(context &c, char *stack, size_t bytes, void (*f)()) {
    getcontext(&c.all);
    c.all.uc_stack.ss_sp = stack, c.all.uc_stack.ss_size = bytes;
    makecontext(&c.all, f, 0);
}
#endif

/* ---- what there is ---- */

struct pending_copy {
    char *to;
    const void *from; /* NULL: zeros */
    size_t count;
};
/* Bytes on their way to another block. */
struct sent {
    char *to;
    unsigned char bytes[16];
    size_t count;
    unsigned barrier;
};
/* Threads that are there, and how often all have been. */
struct meeting {
    int there = 0;
    unsigned rounds = 0;
    void *brought[WARP] = {};
};
struct counting_barrier {
    int arrivals = 0;
    long bytes = 0;
    unsigned phases = 0;
};

struct fiber {
    context at; /* where it goes on */
    void *stack;
    int rank = 0, thread = 0;
    const unsigned *waits_for = nullptr; /* a count that has to be another than this one */
    unsigned seen = 0;
    size_t fixed = 0; /* bytes of fixed_memory() that its thread has asked for */
    std::vector<std::vector<pending_copy>> groups;
    std::vector<pending_copy> open;
};

struct block {
    meeting warps[MOST_THREADS / WARP], barriers[BARRIERS];
    counting_barrier counting[BLOCK_BYTES / 8]; /* by their place in shared memory */
    std::vector<unsigned> opened;
    dim3 index;
};

/* All that a thread of the host needs to be a GPU; fibers are used again. */
struct machine {
    std::vector<std::unique_ptr<fiber>> fibers;
    std::vector<fiber *> idle, waiting, turns; /* turns: those that wait and are asked in this round */
    size_t next_turn;
    std::vector<std::pair<int, int>> to_begin; /* threads, the next one last: rank, number */
    std::unique_ptr<block[]> blocks{new block[MOST_RANKS]};
    char *memory; /* of MOST_RANKS blocks */
    meeting cluster;
    std::deque<sent> on_their_way;
    std::mt19937 random{7};
    const std::function<void()> *kernel;
    fiber *current;
    context outside;
    int threads, ranks;
    size_t shared;
    manner in;
    bool gone_on; /* something has happened in this round of turns */

    machine() {
        memory = (char *)mmap(nullptr, (size_t)MOST_RANKS * BLOCK_BYTES, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) abort();
    }
    ~machine() {
        for (auto &f : fibers) munmap(f->stack, STACK_BYTES);
        munmap(memory, (size_t)MOST_RANKS * BLOCK_BYTES);
    }
    char *memory_of(int rank) { return memory + (size_t)rank * BLOCK_BYTES; }
};
static thread_local std::unique_ptr<machine> own_machine;
static constinit thread_local machine *here_now; /* the same, without a look whether it has been made */
#define here (*here_now)

static void fail(const char *what) {
    fprintf(stderr, "emulated GPU: %s, in thread %u of block %u,%u,%u (of %u threads)\n", what, threadIdx.x,
            blockIdx.x, blockIdx.y, blockIdx.z, blockDim.x);
    abort();
}

/* ---- turns ---- */

static void begin_thread(fiber *f) {
    const auto [rank, thread] = here.to_begin.back();
    here.to_begin.pop_back();
    f->rank = rank, f->thread = thread, f->fixed = 0;
    f->groups.clear(), f->open.clear();
}
static void take_place(const fiber *f) {
    threadIdx = dim3((unsigned)f->thread, 0, 0);
    blockIdx = here.blocks[f->rank].index;
}
/* The next one of this round that need not wait any more; NULL: there is none. */
static fiber *next_in_turn() {
    while (here.next_turn < here.turns.size()) {
        fiber *f = here.turns[here.next_turn++];
        if (*f->waits_for != f->seen) {
            here.gone_on = true;
            return f;
        }
        here.waiting.push_back(f);
    }
    return nullptr;
}
/* Another one goes on, until it is this one's turn again. */
static void leave(fiber *f) {
    here.current = next_in_turn();
    switch_to(f->at, here.current ? here.current->at : here.outside);
}
static void run_fiber() {
    for (;;) {
        fiber *f = here.current;
        while (!here.to_begin.empty()) {
            begin_thread(f);
            take_place(f);
            (*here.kernel)();
            wait_for_all_copies(); /* they are not lost with the thread */
            here.gone_on = true;
        }
        here.idle.push_back(f);
        leave(f);
    }
}
static fiber *new_fiber() {
    here.fibers.push_back(std::make_unique<fiber>());
    fiber *f = here.fibers.back().get();
    void *stack = mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED || mprotect(stack, 4096, PROT_NONE) != 0) abort(); /* it ends there */
    f->stack = stack;
    /* the same places of all stacks would share a few lines of the cache */
    const size_t less = here.fibers.size() % 64 * 1088;
    begin_at(f->at, (char *)stack, STACK_BYTES - less, run_fiber);
    return f;
}
/* Until it waits or has nothing more to do. */
static void go_on(fiber *f) {
    here.current = f;
    switch_to(here.outside, f->at);
}
/* The thread that runs waits until a count is another than it has seen. */
static void wait_until_changed(const unsigned *count, unsigned seen) {
    fiber *f = here.current;
    while (*count == seen) {
        f->waits_for = count, f->seen = seen;
        here.waiting.push_back(f);
        leave(f);
        take_place(f);
    }
}

static void arrive(std::vector<pending_copy> &copies) {
    for (const pending_copy &c : copies)
        if (c.from)
            memcpy(c.to, c.from, c.count);
        else
            memset(c.to, 0, c.count);
    copies.clear();
}
static void deliver(const sent &s);
static void deliver_next() {
    deliver(here.on_their_way.front());
    here.on_their_way.pop_front();
}

/* Behind the memory that a launch asked for, which nobody is to write. */
static size_t guard_bytes() {
    const size_t left = LAUNCH_BYTES - here.shared;
    return left < (size_t)GUARD_BYTES ? left : (size_t)GUARD_BYTES;
}
static void check_guard(int rank) {
    const char *const guard = here.memory_of(rank) + here.shared;
    for (size_t i = 0; i < guard_bytes(); i++)
        if (guard[i] != (char)0xff) fail("found numbers behind the shared memory that the launch asked for");
}

static void run_cluster() {
    here.cluster = meeting();
    here.turns.clear(), here.next_turn = 0;
    for (int rank = 0; rank < here.ranks; rank++) {
        block &b = here.blocks[rank];
        memset(here.memory_of(rank), 0xff,
               here.shared + guard_bytes()); /* what nobody has written is no number */
        for (int i = 0; i < (here.threads + WARP - 1) / WARP; i++) b.warps[i] = meeting();
        for (meeting &m : b.barriers) m = meeting();
        for (unsigned i : b.opened) b.counting[i] = counting_barrier();
        b.opened.clear();
        for (int i = 0; i < here.threads; i++) here.to_begin.push_back({rank, i});
    }
    if (here.in.turns == ASCENDING) std::reverse(here.to_begin.begin(), here.to_begin.end());
    if (here.in.turns == SHUFFLED) std::shuffle(here.to_begin.begin(), here.to_begin.end(), here.random);
    while (!here.to_begin.empty() || !here.waiting.empty()) {
        here.gone_on = false;
        while (!here.to_begin.empty()) {
            if (here.idle.empty()) here.idle.push_back(new_fiber());
            fiber *f = here.idle.back();
            here.idle.pop_back();
            here.gone_on = true;
            go_on(f);
        }
        here.turns.swap(here.waiting);
        here.next_turn = 0;
        if (here.in.turns == SHUFFLED) std::shuffle(here.turns.begin(), here.turns.end(), here.random);
        if (fiber *f = next_in_turn()) go_on(f);
        here.turns.clear();
        if (here.gone_on) continue;
        if (here.on_their_way.empty()) fail("threads wait for one another for ever");
        deliver_next(); /* as late as it may be */
    }
    while (!here.on_their_way.empty()) deliver_next();
    for (int rank = 0; rank < here.ranks; rank++) check_guard(rank);
}

void run(dim3 grid, int threads, int ranks, size_t shared, manner in, const std::function<void()> &kernel) {
    if (shared > LAUNCH_BYTES || threads < 1 || threads > MOST_THREADS || ranks < 1 || ranks > MOST_RANKS ||
        grid.x % (unsigned)ranks != 0)
        abort();
    if (!own_machine) own_machine = std::make_unique<machine>(), here_now = own_machine.get();
    here.kernel = &kernel, here.threads = threads, here.ranks = ranks, here.in = in, here.shared = shared;
    gridDim = grid, blockDim = dim3((unsigned)threads);
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x += (unsigned)ranks) {
                for (int rank = 0; rank < ranks; rank++)
                    here.blocks[rank].index = dim3(x + (unsigned)rank, y, z);
                run_cluster();
            }
}

/* ---- meeting ---- */

static void meet_at(meeting &m, int threads, void (*last)(void *[WARP])) {
    const unsigned round = m.rounds;
    if (++m.there == threads) {
        if (last) last(m.brought);
        m.there = 0, m.rounds++;
        here.gone_on = true;
    } else
        wait_until_changed(&m.rounds, round);
}
void meet(int barrier, int threads) {
    if (barrier < 0 || barrier >= BARRIERS || threads > here.threads) fail("found no such barrier");
    meet_at(here.blocks[here.current->rank].barriers[barrier], threads, nullptr);
}
void meet_cluster() {
    meet_at(here.cluster, here.threads * here.ranks, nullptr);
}
void together(void *mine, void (*f)(void *of[WARP])) {
    const int warp = here.current->thread / WARP, left = here.threads - warp * WARP;
    meeting &m = here.blocks[here.current->rank].warps[warp];
    m.brought[here.current->thread % WARP] = mine;
    meet_at(m, left < WARP ? left : WARP, f);
}

/* ---- memory ---- */

char *block_memory() {
    return here.memory_of(here.current->rank);
}
void *fixed_memory(size_t size) {
    fiber *f = here.current;
    char *p = block_memory() + LAUNCH_BYTES + f->fixed;
    f->fixed += (size + 15) / 16 * 16;
    if (LAUNCH_BYTES + f->fixed > BLOCK_BYTES) fail("found more shared memory of a kernel than there is");
    return p;
}
unsigned address_of(const void *p) {
    const char *own = block_memory(), *at = (const char *)p;
    if (at < own || at >= own + BLOCK_BYTES)
        fail("found an address that is not in the block's shared memory");
    return (unsigned)(at - own);
}
unsigned address_in(unsigned address, int rank) {
    if (rank < 0 || rank >= here.ranks) fail("found a rank that the cluster does not have");
    return address | (unsigned)(rank + 1) << ADDRESS_BITS;
}
char *at(unsigned address, size_t bytes, size_t aligned) {
    const unsigned of = address >> ADDRESS_BITS, place = address & ((1u << ADDRESS_BITS) - 1);
    if (place + bytes > BLOCK_BYTES || (place < LAUNCH_BYTES && place + bytes > here.shared) ||
        of > (unsigned)here.ranks)
        fail("found an address beyond shared memory");
    if (place % aligned != 0) fail("found an address that is not aligned");
    return here.memory_of(of == 0 ? here.current->rank : (int)of - 1) + place;
}

/* ---- copies ---- */

void copy(void *to, const void *from, size_t bytes) {
    fiber *f = here.current;
    (void)at(address_of(to), bytes, bytes);
    if ((uintptr_t)from % bytes != 0) fail("found a copy from where it is not aligned");
    f->open.push_back({(char *)to, from, bytes});
    if (!here.in.late) arrive(f->open);
}
void commit_copies() {
    fiber *f = here.current;
    f->groups.push_back(f->open);
    f->open.clear();
}
void wait_for_copies(size_t groups_left) {
    fiber *f = here.current;
    for (; f->groups.size() > groups_left; f->groups.erase(f->groups.begin())) arrive(f->groups[0]);
}
void wait_for_all_copies() {
    wait_for_copies(0);
    arrive(here.current->open);
}

/* ---- barriers that count bytes ---- */

static counting_barrier &counting(unsigned barrier) {
    const char *p = at(barrier, 8, 8);
    const size_t place = (size_t)(p - here.memory);
    return here.blocks[place / BLOCK_BYTES].counting[place % BLOCK_BYTES / 8];
}
static void go_on_if_complete(counting_barrier &b) {
    if (b.arrivals != 0 || b.bytes != 0) return;
    b.arrivals = 1, b.phases++;
    here.gone_on = true;
}
void open_barrier(unsigned barrier) {
    block &b = here.blocks[here.current->rank];
    b.opened.push_back((barrier & ((1u << ADDRESS_BITS) - 1)) / 8);
    counting(barrier) = counting_barrier{1, 0, 0};
}
void expect_bytes(unsigned barrier, int bytes) {
    counting_barrier &b = counting(barrier);
    if (b.arrivals != 1) fail("found a second arrival at a barrier for one");
    b.arrivals--, b.bytes += bytes;
    go_on_if_complete(b);
}
void wait_at_barrier(unsigned barrier, int parity) {
    const counting_barrier &b = counting(barrier);
    while ((int)(b.phases % 2) == parity) wait_until_changed(&b.phases, b.phases);
}
/* Barriers are found when the bytes are sent: addresses count from the sender's block. */
static void deliver(const sent &s) {
    memcpy(s.to, s.bytes, s.count);
    counting_barrier &b = here.blocks[s.barrier / BLOCK_BYTES].counting[s.barrier % BLOCK_BYTES / 8];
    b.bytes -= (long)s.count;
    go_on_if_complete(b);
}
void send(unsigned to, const void *from, size_t bytes, unsigned barrier) {
    sent s = {at(to, bytes, bytes), {0}, bytes, (unsigned)(at(barrier, 8, 8) - here.memory)};
    memcpy(s.bytes, from, bytes);
    if (here.in.late)
        here.on_their_way.push_back(s);
    else
        deliver(s);
}

} // namespace emulated
