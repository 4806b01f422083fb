/* jointflow recipe: the recipes that came with the program, and what recipes may say. */
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int list_recipes(const call *c) {
    char *list;
    if (jf_recipe_list(&list, c->ctx) != JF_OK) return cli_fail_library(c);
    cli_print_list(list);
    int none = !*list;
    jf_text_free(list);
    return none ? cli_fail("no recipes found; JOINTFLOW_RECIPES may name the folder that has them") : CLI_OK;
}

static int print_recipe(const call *c) {
    const char *name = argument(c->arguments, 0);
    jf_recipe *r = NULL;
    char *text = NULL;
    int code = cli_load_recipe(c, &r, name ? name : "crescents");
    if (code == CLI_OK && jf_recipe_text(&text, r, option_given(c->arguments, "docs")) != JF_OK)
        code = cli_fail_library(c);
    if (code == CLI_OK) fputs(text, stdout);
    jf_text_free(text);
    jf_recipe_free(r);
    return code;
}

static int recipe(const call *c) {
    const arguments *a = c->arguments;
    int print = argument(a, 0) || option_given(a, "docs") || option_given(a, "set");
    return print ? print_recipe(c) : list_recipes(c);
}

static const option options[] = {
    {"docs", 0, OPTION_FLAG, NULL, NULL, 0, 0,
     "explain every key; without NAME, those of crescents as a template"},
    OPTION_SET,
    {0},
};

static const example examples[] = {
    {"Which recipes there are", "jointflow recipe"},
    {"Begin a recipe of your own", "jointflow recipe --docs > mine.ini"},
    {"A recipe with another value", "jointflow recipe sectors --set train.rate=3e-4 > faster.ini"},
    {0},
};

const command command_recipe = {
    .name = "recipe",
    .summary = "list the recipes, or print one",
    .arguments = "[NAME]",
    .about = "Without NAME lists the recipes that came with the program. With NAME, one of those or a file, "
             "prints it with the values of all keys, defaults included; with --docs each key with what it "
             "means and allows.",
    .options = options,
    .examples = examples,
    .run = recipe,
};
