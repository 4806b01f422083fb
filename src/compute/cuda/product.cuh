/* Products of matrices in float, for dense layers and 1x1 convolutions: tiles of 64 x 64 in shared memory, 4
 * x 4 sums per thread. Shapes that have kernels of their own do not come here. */
#ifndef JF_COMPUTE_CUDA_PRODUCT_CUH
#define JF_COMPUTE_CUDA_PRODUCT_CUH

#include "compute/cuda/kernels.cuh"

/* c (m, n) = act(a (m, k) b (k, n) + bias (n)), or c += where `adds`. Element (i, j) of a is a[i * a_row + j
 * * a_column], of b likewise, so that either may be a transpose. With several pieces k is cut, and piece p is
 * c + p * c_piece. */
typedef struct product {
    size_t m, n, k;
    const float *a, *b, *bias; /* bias NULL: none */
    size_t a_row, a_column, b_row, b_column;
    float *c;
    size_t c_row, c_piece;
    float slope; /* of act; 1: none */
    int adds, pieces;
} product;

enum { TILE = 64, DEPTH = 16, SIDE = 4 };

/* One tile of `from` into shared memory as [depth][TILE]; what lies outside is zero. `across` runs along m or
 * n. */
static __device__ void load_tile(float (*to)[TILE + 4], const float *from, size_t across, size_t across_end,
                                 size_t across_step, size_t deep, size_t deep_end, size_t deep_step) {
    int by_depth = deep_step == 1; /* neighbouring threads read neighbouring numbers */
    for (int i = (int)threadIdx.x; i < TILE * DEPTH; i += THREADS) {
        int column = by_depth ? i / DEPTH : i % TILE, row = by_depth ? i % DEPTH : i / TILE;
        size_t x = across + (size_t)column, z = deep + (size_t)row;
        to[row][column] = x < across_end && z < deep_end ? from[x * across_step + z * deep_step] : 0;
    }
}

static __global__ void __launch_bounds__(THREADS) product_kernel(product p) {
    __shared__ float a[DEPTH][TILE + 4], b[DEPTH][TILE + 4];
    size_t row = (size_t)blockIdx.y * TILE, column = (size_t)blockIdx.x * TILE;
    int piece = (int)blockIdx.z, top = (int)threadIdx.x / 16 * SIDE, left = (int)threadIdx.x % 16 * SIDE;
    size_t end = piece_begin(p.k, p.pieces, piece + 1);
    float sum[SIDE][SIDE] = {{0}};
    for (size_t at = piece_begin(p.k, p.pieces, piece); at < end; at += DEPTH) {
        load_tile(a, p.a, row, p.m, p.a_row, at, end, p.a_column);
        load_tile(b, p.b, column, p.n, p.b_column, at, end, p.b_row);
        __syncthreads();
        for (int z = 0; z < DEPTH; z++)
            for (int i = 0; i < SIDE; i++)
                for (int j = 0; j < SIDE; j++) sum[i][j] += a[z][top + i] * b[z][left + j];
        __syncthreads();
    }
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            size_t y = row + (size_t)(top + i), x = column + (size_t)(left + j);
            if (y >= p.m || x >= p.n) continue;
            float t = sum[i][j] + (p.bias ? p.bias[x] : 0),
                  *to = p.c + (size_t)piece * p.c_piece + y * p.c_row + x;
            t = t > 0 ? t : p.slope * t;
            *to = p.adds ? *to + t : t;
        }
}

static void product_run(cuda_device *own, product p, const char *name) {
    const unsigned most = 65535; /* rows of tiles of a launch */
    if (p.m == 0 || p.n == 0) return;
    if (p.pieces < 1) p.pieces = 1;
    size_t rows = p.m;
    for (size_t at = 0; at < rows; at += (size_t)most * TILE) {
        product part = p;
        part.m = rows - at < (size_t)most * TILE ? rows - at : (size_t)most * TILE;
        part.a += at * p.a_row;
        part.c += at * p.c_row;
        dim3 grid(blocks_for(p.n, TILE), blocks_for(part.m, TILE), (unsigned)p.pieces);
        launch(own, product_kernel, grid, THREADS, part);
        launched_product(own, name, 2.0 * (double)part.m * (double)p.n * (double)p.k);
    }
}

/* c (m, n) += a^t b for long columns a (k, m) and b (k, n): k is cut into pieces, whose results are added in
 * their order. c is dense. Under the device's lock. */
static void product_of_columns(cuda_device *own, product p, const char *name) {
    size_t count = p.m * p.n;
    p.pieces = pieces_for(p.k, count, 256, CUDA_PARTIAL);
    if (p.pieces == 1) {
        p.adds = 1;
        product_run(own, p, name);
        return;
    }
    float *to = p.c;
    p.c = own->partial;
    p.c_piece = count;
    product_run(own, p, name);
    launch(own, add_pieces, blocks_for(count, THREADS), THREADS, to, own->partial, count, p.pieces, count);
    launched(own, name);
}

/* to (columns) += the sums of the columns of from (rows, columns), whose rows are `row` numbers apart. */
static __global__ void column_sums_kernel(float *partial, const float *from, size_t rows, size_t columns,
                                          size_t row, int pieces) {
    size_t end = piece_begin(rows, pieces, (int)blockIdx.y + 1);
    FOR_EACH_INDEX (column, columns) {
        float sum = 0;
        for (size_t i = piece_begin(rows, pieces, (int)blockIdx.y); i < end; i++)
            sum += from[i * row + column];
        partial[(size_t)blockIdx.y * columns + column] = sum;
    }
}
/* Under the device's lock. */
static void add_column_sums(cuda_device *own, float *to, const float *from, size_t rows, size_t columns,
                            size_t row) {
    int pieces = pieces_for(rows, columns, 32, CUDA_PARTIAL);
    dim3 grid(blocks_for(columns, 64), (unsigned)pieces);
    launch(own, column_sums_kernel, grid, 64, own->partial, from, rows, columns, row, pieces);
    launch(own, add_pieces, blocks_for(columns, 64), 64, to, own->partial, columns, pieces, columns);
    launched(own, "sums of columns");
}

#endif
