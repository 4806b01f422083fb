/* jointflow version: which one this is, and what it can compute on. */
#include "cli.h"
#include <stdio.h>

static int version(const call *c) {
    (void)c;
    printf("jointflow %s\n", jf_version());
    for (int i = 0; jf_device_name(i); i++) {
        char why[256];
        int missing = jf_device_is_missing(i, why, sizeof why);
        printf("device %-6s %s%s%s\n", jf_device_name(i), jf_device_summary(i), missing ? "; not here: " : "",
               missing ? why : "");
    }
    return CLI_OK;
}

const command command_version = {
    .name = "version",
    .summary = "tell the version, and the devices of this build",
    .arguments = "",
    .about = "Prints the version in the first line, and then the devices that --device may name, and why one "
             "of them "
             "cannot be used on this machine. --device auto takes a GPU where there is one. jointflow "
             "--version does the same.",
    .options = (const option[]){{0}},
    .examples = (const example[]){{"Which version is this", "jointflow --version"}, {0}},
    .run = version,
};
