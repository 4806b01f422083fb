/* One call of every public function, with arguments that it takes, for tests of what all of them promise. */
#ifndef JF_TESTS_PUBLIC_CALLS_H
#define JF_TESTS_PUBLIC_CALLS_H

#include "jointflow/jointflow.h"

/* Handles and results of every kind. */
typedef struct live live;
/* Below test_folder(), on `threads` threads. */
live *live_open(int threads);
jf_context *live_context(live *f);
jf_model *live_model(live *f);

/* What a call gives: the status of the function, or one of these of a function without. */
enum { CALL_GAVE = 1000, CALL_GAVE_WRONG };
/* hide: the argument that is NULL, from 0; -1: none. Of one that returns a value CALL_GAVE_WRONG: it is not
 * that of NULL. */
typedef struct public_call {
    const char *name;
    int (*run)(live *f, int hide);
    int may_fail; /* without hiding: what it needs is not here */
} public_call;
extern public_call public_calls[256];
extern int public_call_count;
/* Arguments of the call that ran last, a bit each: those that are needed, and those that may be NULL. */
extern unsigned call_needed, call_optional;

#endif
