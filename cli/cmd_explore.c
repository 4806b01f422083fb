/* jointflow explore: models in the browser. */
#include "cli.h"
#include "explore/server.h"
#include "stop.h"
#include <stdio.h>
#include <time.h>

static int check_listen(const call *c) {
    const char *address = option_text(c->arguments, "listen");
    int loopback = server_is_loopback(address);
    if (loopback < 0)
        return cli_misuse(c->command, "--listen: found \"%s\", expected an address such as 127.0.0.1 or ::1",
                          address);
    if (!loopback)
        fprintf(
            stderr,
            "jointflow: " JF_WARNING "listening on %s: whoever can reach this machine and learns the token, "
            "which travels unencrypted, can use the models; --listen 127.0.0.1 is for this machine alone\n",
            address);
    return CLI_OK;
}

static int add_models(const call *c, explorer *e) {
    const char *name;
    jf_load_options device = cli_device_options(c);
    for (int i = 0; (name = argument(c->arguments, i)) != NULL; i++) {
        jf_status status = explorer_add(e, name, &device);
        if (status == JF_ERROR_MEMORY) return cli_fail_memory();
        if (status != JF_OK) return cli_fail("%s", jf_context_error(e->ctx));
    }
    return CLI_OK;
}

static void wait_for(const volatile int *stop) {
    while (!*stop) nanosleep(&(struct timespec){.tv_nsec = 100 * 1000 * 1000}, NULL);
    stop_end();
}

static int explore(const call *c) {
    server *s = NULL;
    server_options options = {.address = option_text(c->arguments, "listen"),
                              .port = option_int(c->arguments, "port")};
    explorer *e = explorer_create();
    int code = e ? check_listen(c) : cli_fail_memory();
    if (code == CLI_OK) code = add_models(c, e);
    if (code == CLI_OK) code = server_start(&s, e, &options);
    if (code == CLI_OK) {
        const volatile int *stop = stop_on_signals(); /* before anybody is told how to end it */
        printf("Open %s in a browser; Ctrl-C ends it.\n", server_address(s));
        fflush(stdout);
        wait_for(stop);
    }
    server_stop(s);
    explorer_free(e);
    return code;
}

static const option options[] = {
    {"port", 0, OPTION_WHOLE, "N", "0", 0, 65535, "the port to listen on; 0: any that is free"},
    {"listen", 0, OPTION_TEXT, "ADDRESS", "127.0.0.1", 0, 0,
     "another address to listen on than that of this machine alone; 0.0.0.0 is all of them"},
    OPTION_THREADS,
    OPTION_DEVICE,
    {0},
};

static const example examples[] = {
    {"A model that came with the program", "jointflow explore crescents"},
    {"Several, to go from one to the other", "jointflow explore sectors mixed ring rule-cross"},
    {"Images of ten classes, drawn small and made larger by other models", "jointflow explore fashion-ten"},
    {"Both steps of super-resolution", "jointflow explore fashion"},
    {"A run of your own, always at the same port", "jointflow explore out/mine --port 8080"},
    {0},
};

const command command_explore = {
    .name = "explore",
    .summary = "move the condition and watch the answers, in the browser",
    .arguments = "MODEL [MODEL...]",
    .about =
        "Serves a page where the condition y is moved by sliders, buttons of classes or a drawing, and "
        "samples "
        "of p(x|y), their density, their latent points and the model's judgement follow. All of it is "
        "computed "
        "by the models, which are run folders, model files or names of those that came with the program; "
        "with "
        "the same seed the page shows what jointflow sample draws.\n"
        "The address that is printed holds a random token, new with every start. Requests without it, from "
        "another page or under another name of this machine are refused; the page itself asks for nothing "
        "from elsewhere. Nothing but 127.0.0.1 is listened on unless --listen asks for it.\n"
        "What is seen can be saved as one HTML file, and the part of the address after # holds what was "
        "chosen, seed included. Ctrl-C ends the server. jointflow train --watch serves the same page for a "
        "training under way.",
    .options = options,
    .examples = examples,
    .run = explore,
};
