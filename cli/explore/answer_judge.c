/* The judgement of a model, begun by the first who asks with "begin": true. */
#include "answers.h"

static jf_status give_judge(explorer *e, ask *asked, buffer *out) {
    static const char *const states[] = {"none", "running", "done", "failed"};
    const char *table, *json, *why;
    shown_model *s = answers_model(e, asked);
    int begin = ask_flag(asked, "begin");
    if (asked->refused) return JF_OK;
    if (begin) verdict_begin(s->verdict);
    verdict_state state = verdict_get(s->verdict, &table, &json, &why);
    buffer_add(out, "{\"state\":\"%s\",\"table\":", states[state]);
    buffer_add_text(out, table);
    buffer_add(out, ",\"why\":");
    buffer_add_text(out, why);
    buffer_add(out, ",\"judgement\":%s}\n", json);
    return JF_OK;
}

const answer answer_judge = {"judge", give_judge};
