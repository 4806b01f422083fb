#include "judging.h"

jf_judge_options judging_options(const arguments *a) {
    return (jf_judge_options){.size = sizeof(jf_judge_options),
                              .points = option_int(a, "points"),
                              .seed = option_whole(a, "seed"),
                              .denoise = option_given(a, "denoise"),
                              .inputs = option_int(a, "inputs"),
                              .test = option_text(a, "test"),
                              .test_labels = option_text(a, "test-labels")};
}
