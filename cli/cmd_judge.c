/* jointflow judge: how far to trust a model. */
#include "cascade_option.h"
#include "judging.h"
#include "simulator.h"
#include <limits.h>
#include <stdio.h>

static int judge(const call *c) {
    const arguments *a = c->arguments;
    jf_judge_options options = judging_options(a);
    options.temperature = option_real(a, "temperature");
    if (options.temperature == 0)
        return cli_misuse(c->command,
                          "--temperature: found 0, where all samples are one, expected a number above 0");
    jf_model *m = NULL;
    jf_judgement *j = NULL;
    int code = cli_join_ranks(c);
    if (code == CLI_OK) code = cli_load_model(c, &m, argument(a, 0));
    simulator s = {.command = option_text(a, "simulator"), .timeout = option_real(a, "simulator-timeout")};
    if (code == CLI_OK && s.command) {
        s.dim_x = jf_model_dim_x(m);
        s.dim_y = jf_model_dim_y(m);
        options.simulate = simulator_run;
        options.simulate_user = &s;
    }
    jf_cascade *cascade = NULL;
    if (code == CLI_OK) code = cascade_option_load(c, m, &cascade);
    options.cascade = cascade;
    if (code == CLI_OK && jf_judge(&j, m, &options) != JF_OK)
        code = s.problem[0] ? cli_fail("%s", s.problem) : cli_fail_library(c);
    if (code == CLI_OK) {
        if (option_given(a, "json"))
            puts(jf_judgement_json(j));
        else
            fputs(jf_judgement_text(j), stdout);
    }
    jf_judgement_free(j);
    jf_cascade_free(cascade);
    jf_model_free(m);
    return code;
}

static const option options[] = {
    {"json", 0, OPTION_FLAG, NULL, NULL, 0, 0, "one JSON object instead of a table"},
    OPTIONS_JUDGE,
    OPTION_TEMPERATURE,
    OPTION_THEN,
    {"simulator", 0, OPTION_TEXT, "COMMAND", NULL, 0, 0,
     "models of vectors: also judge what is simulated from answers. COMMAND reads rows of x from standard "
     "input, numbers "
     "separated by commas, and writes as many rows of y; no header lines"},
    {"simulator-timeout", 0, OPTION_REAL, "SECONDS", "600", 0.001, 1e6,
     "how long a run of COMMAND may take; it is run twice"},
    OPTION_SEED,
    OPTION_RANKS,
    OPTION_THREADS,
    OPTION_DEVICE,
    {0},
};

static const example examples[] = {
    {"A table for people", "jointflow judge out/crescents"},
    {"More inputs, and samples without the noise of training, too",
     "jointflow judge out/fashion-sr-14-28-small --inputs 1000 --denoise"},
    {"On images that the model has never seen", "jointflow judge out/fashion-class-small --test holiday/"},
    {"Whether answers, simulated, lead back to what was measured",
     "jointflow judge out/theta --simulator 'python3 simulate.py'"},
    {"By four processes that share the work", "mpirun -n 4 jointflow judge out/fashion-sr-14-28-small"},
    {"One number for a script", "jointflow judge out/crescents --json | jq .gap"},
    {0},
};

const command command_judge = {
    .name = "judge",
    .summary = "measure how far to trust a model",
    .arguments = "MODEL",
    .about =
        "Measures MODEL, a run folder, a model file or the name of one that came with the program, on fresh "
        "points of its data: the terms of the loss, "
        "the likelihood beside the exact entropy where that is known, the error of y', latent histograms "
        "against the normal distribution, and round trips through the map and back. Of models of vectors "
        "also whether "
        "the answers are calibrated: how the truth ranks among samples of its condition (SBC, expected "
        "coverage, "
        "TARP), each beside what a right model would show, and in words what is wrong. Of models of images "
        "of a "
        "class also how many samples the nearest training image recognises as what they should be, and "
        "precision and recall by nearest neighbours, each beside what held-out images reach; where other "
        "models "
        "make their images larger (--then), of the larger ones.",
    .options = options,
    .examples = examples,
    .run = judge,
};
