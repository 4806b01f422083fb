/* What the page can ask for: one answer is one function, in one list. */
#ifndef EXPLORE_ANSWERS_H
#define EXPLORE_ANSWERS_H

#include "ask.h"
#include "buffer.h"
#include "models.h"

enum { ANSWER_WHY = 512 };

/* Writes one JSON object. Refuses through the ask, or returns the status of a function of the library that
 * failed, whose message is then taken from the context. */
typedef struct answer {
    const char *name;
    jf_status (*give)(explorer *e, ask *asked, buffer *out);
} answer;
extern const answer *const answers[]; /* ends with NULL */

/* Answers the body of a request: the status of HTTP, with a sentence in `why` where it is not 200. */
int answers_give(explorer *e, const char *name, const char *body, size_t size, buffer *out,
                 char why[ANSWER_WHY]);

/* ---- what answers share ---- */

shown_model *answers_model(explorer *e, ask *asked); /* field "model"; the first one where it is refused */
double *answers_array(ask *asked,
                      size_t count); /* zeros, yours to free(); refuses where there is no memory */
/* Bytes of values from lo to hi, as a text in base64. */
void answers_add_bytes(buffer *out, const double *values, size_t count, double lo, double hi);
void answers_add_images(buffer *out, const char *name, const jf_images *images); /* "name":{...} */
#endif
