/* jointflow version: which one this is, and what it can compute on. */
#include "cli.h"
#include <stdio.h>

static int version(const call *c) {
    (void)c;
    printf("jointflow %s\n", jf_version());
    for (int i = 0; jf_device_name(i); i++)
        printf("device %-6s %s\n", jf_device_name(i), jf_device_summary(i));
    return CLI_OK;
}

const command command_version = {
    .name = "version",
    .summary = "tell the version, and the devices of this build",
    .arguments = "",
    .about = "Prints the version in the first line, and then the devices that --device may name. jointflow "
             "--version does the same.",
    .options = (const option[]){{0}},
    .examples = (const example[]){{"Which version is this", "jointflow --version"}, {0}},
    .run = version,
};
