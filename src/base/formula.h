/* FORMULA stands before the functions of headers that other compilers take, too: what they compute is written
 * once, for the host and for a device that runs them itself. */
#ifndef JF_BASE_FORMULA_H
#define JF_BASE_FORMULA_H

#ifdef __CUDACC__
#define FORMULA static inline __host__ __device__
#else
#define FORMULA static inline
#endif

#endif
