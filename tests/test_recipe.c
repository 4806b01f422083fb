/* Tests of src/io/recipe: reading, checking and writing recipes. */
#include "test.h"

#include "base/file.h"
#include "base/random.h"
#include "io/recipe.h"

static const recipe_key base_keys[] = {
    {"data", "set", KEY_CHOICE, "crescents", 0, 0, "crescents table", "The data set."},
    {"train", "rate", KEY_REAL, "0.001", 1e-8, 1, NULL, "Step size of the optimiser."},
    {"train", "epochs", KEY_INT, "100", 1, 1000000, NULL, "Passes through the data."},
    {"train", "anneal", KEY_BOOL, "yes", 0, 0, NULL, "Whether noise is annealed."},
    {"model", "blocks", KEY_INT, NULL, 1, 64, NULL, "Number of blocks."},
    {"model", "laws", KEY_WORDS, "affine", 0, 0, "affine additive shear", "Coupling laws, in turn."},
    {"model", "note", KEY_TEXT, "", 0, 0, NULL, "Free text."},
    {"model", "shift", KEY_REAL, "-1.5", 0, 0, NULL, "Any number."},
    {"model", "floor", KEY_REAL, "0", 0, INFINITY, NULL, "Any number that is not negative."},
    {0}};
static const recipe_key crescent_keys[] = {
    {"data", "width", KEY_REAL, "0.1", 0, 10, NULL, "Width of a crescent."}, {0}};
static const recipe_key table_keys[] = {{"data", "file", KEY_TEXT, NULL, 0, 0, NULL, "The table."},
                                        {"data", "width", KEY_INT, "3", 1, 9, NULL, "Columns of x."},
                                        {0}};

static jf_context *new_context(void) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    return ctx;
}

static void declare(recipe *r) {
    CHECK_STATUS(recipe_declare(r, base_keys, NULL), JF_OK);
    char condition[32] = "data.set=crescents"; /* gone after this function: the recipe keeps a copy */
    CHECK_STATUS(recipe_declare(r, crescent_keys, condition), JF_OK);
    CHECK_STATUS(recipe_declare(r, table_keys, "data.set=table"), JF_OK);
    memset(condition, '?', sizeof condition);
}

static recipe *parse(jf_context *ctx, const char *chars) {
    recipe *r = NULL;
    if (recipe_parse(ctx, &r, chars, "c.ini") != JF_OK)
        test_fail(__FILE__, __LINE__, "refused: %s", jf_context_error(ctx));
    declare(r);
    return r;
}

/* The message with which reading or checking ends. */
static void expect_message(const char *chars, const char *message) {
    jf_context *ctx = new_context();
    recipe *r = NULL;
    jf_status status = recipe_parse(ctx, &r, chars, "c.ini");
    if (status == JF_OK) {
        declare(r);
        status = recipe_check(r);
    } else {
        CHECK(r == NULL);
    }
    CHECK_STATUS(status, JF_ERROR_RECIPE);
    CHECK_TEXT(jf_context_error(ctx), message);
    recipe_free(r);
    jf_context_free(ctx);
}

/* ---- reading ---- */

TEST(recipe__reads_values_of_every_type) {
    jf_context *ctx = new_context();
    recipe *r = parse(ctx, "\xEF\xBB\xBF# a comment\r\n"
                           "; another\n"
                           "[ train ]  # the training\n"
                           "rate=0.25\n"
                           "  epochs = 7   ; not many\r\n"
                           "anneal = Off\n"
                           "\n"
                           "[model]\n"
                           "blocks\t=\t12 # a dozen\n"
                           "laws = shear, affine additive\n"
                           "note = a#b; c = \"d\" \xC3\xA9\n"
                           "[train]\n"
                           "[data]\n"
                           "width = 2");
    CHECK_STATUS(recipe_check(r), JF_OK);
    CHECK(recipe_real(r, "train.rate") == 0.25);
    CHECK(recipe_int(r, "train.epochs") == 7);
    CHECK(recipe_bool(r, "train.anneal") == 0);
    CHECK(recipe_int(r, "model.blocks") == 12);
    CHECK_TEXT(recipe_get(r, "model.note"), "a#b; c = \"d\" \xC3\xA9");
    CHECK(recipe_real(r, "data.width") == 2);
    CHECK(recipe_real(r, "model.shift") == -1.5);
    CHECK(recipe_is(r, "data.set", "crescents") && !recipe_is(r, "data.set", "table"));
    CHECK(recipe_is(r, "model.laws", "affine") && !recipe_is(r, "model.laws", "aff"));
    CHECK(recipe_is(r, "train.anneal", "no") && !recipe_is(r, "train.anneal", "yes"));
    CHECK(recipe_line(r, "train.rate") == 4 && recipe_line(r, "data.width") == 14);
    CHECK(recipe_line(r, "model.shift") == 0);
    CHECK_TEXT(recipe_name(r), "c.ini");
    CHECK(recipe_context(r) == ctx);
    recipe_free(r);
    jf_context_free(ctx);
}

TEST(recipe__words_are_given_one_by_one) {
    jf_context *ctx = new_context();
    recipe *r = parse(ctx, "[model]\nblocks=1\nlaws =  shear,affine   additive\n");
    char word[8];
    CHECK(recipe_words(r, "model.laws", 0, word, sizeof word));
    CHECK_TEXT(word, "shear");
    CHECK(recipe_words(r, "model.laws", 2, word, sizeof word));
    CHECK_TEXT(word, "additiv"); /* cut to the size given */
    CHECK(!recipe_words(r, "model.laws", 3, word, sizeof word));
    CHECK_TEXT(word, "");
    CHECK(!recipe_words(r, "model.laws", -1, word, sizeof word));
    CHECK(!recipe_words(r, "model.none", 0, word, sizeof word));
    recipe_free(r);
    jf_context_free(ctx);
}

TEST(recipe__getters_of_undeclared_keys_give_nothing) {
    jf_context *ctx = new_context();
    recipe *r = parse(ctx, "[model]\nblocks = 3\nunknown = 5\n[data]\nfile = x\n");
    CHECK(recipe_get(r, "model.unknown") == NULL);
    CHECK(recipe_int(r, "model.unknown") == 0);
    CHECK(isnan(recipe_real(r, "model.unknown")));
    CHECK(recipe_bool(r, "model.unknown") == 0);
    CHECK(recipe_is(r, "model.unknown", "5") == 0);
    CHECK(recipe_get(r, "data.file") == NULL); /* declared, but only for data.set = table */
    CHECK(recipe_get(r, "nonsense") == NULL);
    recipe_free(r);
    jf_context_free(ctx);
}

TEST(recipe__a_table_applies_where_its_condition_holds) {
    jf_context *ctx = new_context();
    recipe *r = parse(ctx, "[model]\nblocks = 3\n[data]\nset = table\nfile = points.csv\n");
    CHECK_STATUS(recipe_check(r), JF_OK);
    CHECK_TEXT(recipe_get(r, "data.file"), "points.csv");
    CHECK(recipe_int(r, "data.width") == 3); /* of two declarations the one that applies */
    CHECK_STATUS(recipe_set(r, "data.set", "crescents"), JF_OK);
    CHECK(recipe_real(r, "data.width") == 0.1);
    recipe_free(r);
    jf_context_free(ctx);
}

TEST(recipe__conditions_in_a_circle_never_hold) {
    static const recipe_key a[] = {{"s", "a", KEY_TEXT, "1", 0, 0, NULL, "a"}, {0}};
    static const recipe_key b[] = {{"s", "b", KEY_TEXT, "1", 0, 0, NULL, "b"}, {0}};
    jf_context *ctx = new_context();
    recipe *r = NULL;
    CHECK_STATUS(recipe_create(ctx, &r, "circle"), JF_OK);
    CHECK_STATUS(recipe_declare(r, a, "s.b=1"), JF_OK);
    CHECK_STATUS(recipe_declare(r, b, "s.a=1"), JF_OK);
    CHECK(recipe_get(r, "s.a") == NULL && recipe_get(r, "s.b") == NULL);
    CHECK_STATUS(recipe_declare(r, b, "nonsense"), JF_ERROR_ARGUMENT);
    recipe_free(r);
    jf_context_free(ctx);
}

TEST(recipe__load_reads_a_file_and_names_it) {
    jf_context *ctx = new_context();
    static const char good[] = "[model]\nblocks = 2\n", bad[] = "[model]\nblocks = 2\0\n";
    const char *path = test_path("good.ini");
    recipe *r = NULL;
    CHECK_STATUS(file_write(ctx, path, good, sizeof good - 1), JF_OK);
    CHECK_STATUS(recipe_load(ctx, &r, path), JF_OK);
    CHECK_TEXT(recipe_name(r), path);
    recipe_free(r);
    CHECK_STATUS(file_write(ctx, path, bad, sizeof bad - 1), JF_OK);
    CHECK_STATUS(recipe_load(ctx, &r, path), JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(ctx), "good.ini:2: a control character (code 0) in column 11");
    CHECK(r == NULL);
    CHECK_STATUS(recipe_load(ctx, &r, "/nowhere.ini"), JF_ERROR_IO);
    char *big = calloc(1, (1 << 20) + 1);
    memset(big, '\n', (1 << 20) + 1);
    CHECK_STATUS(file_write(ctx, path, big, (1 << 20) + 1), JF_OK);
    CHECK_STATUS(recipe_load(ctx, &r, path), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(ctx), "good.ini: too large; expected at most 1048576 bytes");
    free(big);
    jf_context_free(ctx);
}

/* ---- refusing ---- */

TEST(recipe__lines_that_make_no_sense_are_refused_with_their_number) {
    expect_message("\n[model\n", "c.ini:2: section: found \"[model\", expected [name]");
    expect_message("[mo del]\n", "c.ini:1: section: found \"[mo del]\", expected a name of letters, digits, "
                                 "\"_\" and \"-\" in brackets");
    expect_message("[]\n", "c.ini:1: section: found \"[]\", expected a name of letters, digits, \"_\" and "
                           "\"-\" in brackets");
    expect_message("[model]\nblocks 3\n",
                   "c.ini:2: line: found \"blocks 3\", expected \"key = value\" or \"[section]\"");
    expect_message("[model]\n= 3\n",
                   "c.ini:2: key: found \"\", expected a name of letters, digits, \"_\" and \"-\"");
    expect_message("blocks = 3\n",
                   "c.ini:1: key before the first section: found \"blocks\", expected [section] above it");
    expect_message("[model]\nnote = a\x01\n",
                   "c.ini:2: a control character (code 1) in column 9; expected text");
    expect_message("[model]\nblocks = 3\n[train]\n[model]\n\nblocks = 3\n",
                   "c.ini:6: model.blocks: given twice, first on line 2");
    expect_message("[model]\n# Gr\xFC\xDF"
                   "e\nnote = a caf\xE9\n",
                   "c.ini:3: model.note: byte 6 of the value has code 233, expected text in UTF-8 without "
                   "control characters (no model file "
                   "could hold another)");
    char absurd[6000];
    memset(absurd, 'a', sizeof absurd);
    absurd[sizeof absurd - 1] = '\0';
    expect_message(absurd, "c.ini:1: a line of 5999 characters; expected at most 4096");
}

TEST(recipe__too_many_keys_are_refused) {
    jf_context *ctx = new_context();
    recipe *r = NULL;
    text t = {0};
    text_add(&t, "[s]\n");
    for (int i = 0; i < 5000; i++) text_add(&t, "k%d=\n", i);
    CHECK_STATUS(recipe_parse(ctx, &r, t.chars, "c.ini"), JF_ERROR_RECIPE);
    CHECK_TEXT(jf_context_error(ctx), "c.ini: more than 4096 keys");
    text_free(&t);
    jf_context_free(ctx);
}

TEST(recipe__wrong_values_are_refused_with_what_is_allowed) {
#define WITH_BLOCKS "[model]\nblocks=1\n"
    expect_message(WITH_BLOCKS "[train]\nrate = fast\n",
                   "c.ini:4: train.rate: found \"fast\", expected a number from 1e-08 to 1");
    expect_message(WITH_BLOCKS "[train]\nrate = 2\n",
                   "c.ini:4: train.rate: found \"2\", expected a number from 1e-08 to 1");
    expect_message(WITH_BLOCKS "[train]\nrate = nan\n",
                   "c.ini:4: train.rate: found \"nan\", expected a number from 1e-08 to 1");
    expect_message(WITH_BLOCKS "[train]\nrate =\n",
                   "c.ini:4: train.rate: found \"\", expected a number from 1e-08 to 1");
    expect_message(WITH_BLOCKS "[train]\nepochs = 1.5\n",
                   "c.ini:4: train.epochs: found \"1.5\", expected a whole number from 1 to 1000000");
    expect_message(WITH_BLOCKS "[train]\nepochs = 99999999999\n",
                   "c.ini:4: train.epochs: found \"99999999999\", expected a whole number from 1 to 1000000");
    expect_message(WITH_BLOCKS "[train]\nanneal = maybe\n",
                   "c.ini:4: train.anneal: found \"maybe\", expected yes or no");
    expect_message(WITH_BLOCKS "[data]\nset = cres\n",
                   "c.ini:4: data.set: found \"cres\", expected one of crescents, table");
    expect_message(
        WITH_BLOCKS "laws = affine shea\n",
        "c.ini:3: model.laws: found \"affine shea\", expected words out of affine, additive, shear");
    expect_message(WITH_BLOCKS "shift = inf\n", "c.ini:3: model.shift: found \"inf\", expected a number");
    expect_message(WITH_BLOCKS "floor = -1\n",
                   "c.ini:3: model.floor: found \"-1\", expected a number of at least 0");
}

TEST(recipe__unknown_keys_are_refused_with_the_nearest_known_one) {
    expect_message("[modell]\nblocks = 1\n",
                   "c.ini:2: unknown key \"modell.blocks\"; did you mean \"model.blocks\"?");
    expect_message("[train]\nEpoch = 1\n",
                   "c.ini:2: unknown key \"train.Epoch\"; did you mean \"train.epochs\"?");
    expect_message("[data]\nrate = 1\n", "c.ini:2: unknown key \"data.rate\"; did you mean \"train.rate\"?");
    expect_message("[data]\nxylophone = 1\n", "c.ini:2: unknown key \"data.xylophone\"");
}

TEST(recipe__missing_keys_and_keys_out_of_place_are_refused) {
    expect_message("[train]\nepochs = 3\n",
                   "c.ini: model.blocks: missing, expected a whole number from 1 to 64");
    expect_message(WITH_BLOCKS "[data]\nfile = x.csv\n",
                   "c.ini:4: data.file: applies only where data.set = table; here data.set is \"crescents\"");
    /* the cause comes first: the misspelt set, not the key that it puts out of place */
    expect_message(WITH_BLOCKS "[data]\nfile = x.csv\nset = tabel\n",
                   "c.ini:5: data.set: found \"tabel\", expected one of crescents, table");
}

TEST(recipe__a_default_outside_of_its_own_range_is_reported) {
    static const recipe_key wrong[] = {{"s", "a", KEY_INT, "70", 1, 64, NULL, "a"}, {0}};
    jf_context *ctx = new_context();
    recipe *r = NULL;
    CHECK_STATUS(recipe_create(ctx, &r, "c.ini"), JF_OK);
    CHECK_STATUS(recipe_declare(r, wrong, NULL), JF_OK);
    CHECK_STATUS(recipe_check(r), JF_ERROR_RECIPE);
    CHECK_TEXT(jf_context_error(ctx),
               "c.ini: s.a: found the default \"70\", expected a whole number from 1 to 64");
    recipe_free(r);
    jf_context_free(ctx);
}

/* ---- setting by hand ---- */

TEST(recipe__values_set_by_hand_win_over_the_file) {
    jf_context *ctx = new_context();
    recipe *r = parse(ctx, WITH_BLOCKS "[train]\nrate = 0.5\n");
    CHECK_STATUS(recipe_set(r, "train.rate", "0.1"), JF_OK);
    CHECK_STATUS(recipe_set(r, "train.rate", "  0.25 "), JF_OK);
    CHECK_STATUS(recipe_set(r, "train.epochs", "9"), JF_OK);
    CHECK_STATUS(recipe_check(r), JF_OK);
    CHECK_TEXT(recipe_get(r, "train.rate"), "0.25");
    CHECK(recipe_int(r, "train.epochs") == 9);
    CHECK(recipe_line(r, "train.rate") == 0);
    recipe_free(r);
    jf_context_free(ctx);
}

TEST(recipe__values_set_by_hand_are_reported_as_such) {
    jf_context *ctx = new_context();
    recipe *r = parse(ctx, WITH_BLOCKS "[train]\nrate = 0.5\n");
    CHECK_STATUS(recipe_set(r, "train.rate", "fast"), JF_OK);
    CHECK_STATUS(recipe_check(r), JF_ERROR_RECIPE);
    CHECK_TEXT(jf_context_error(ctx), "set train.rate: found \"fast\", expected a number from 1e-08 to 1");
    CHECK_STATUS(recipe_set(r, "train.rate", "0.1"), JF_OK);
    CHECK_STATUS(recipe_set(r, "train.rat", "1"), JF_OK);
    CHECK_STATUS(recipe_check(r), JF_ERROR_RECIPE);
    CHECK_TEXT(jf_context_error(ctx), "set train.rat: unknown key; did you mean \"train.rate\"?");
    recipe_free(r);
    jf_context_free(ctx);
}

TEST(recipe__set_refuses_what_a_file_could_not_hold) {
    jf_context *ctx = new_context();
    recipe *r = parse(ctx, WITH_BLOCKS);
    static const char *const keys[] = {"rate", "", ".rate", "train.", "train.a.b", "tr ain.rate", "train.1"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        CHECK_STATUS(recipe_set(r, keys[i], "1"), JF_ERROR_RECIPE);
        CHECK_HAS(jf_context_error(ctx), "expected a key written section.key");
    }
    static const char *const values[] = {"a\nb", "a #b", "#a", "a\t;b", "\x7f", "caf\xE9", "\xC3"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        CHECK_STATUS(recipe_set(r, "model.note", values[i]), JF_ERROR_RECIPE);
        CHECK_HAS(jf_context_error(ctx), "set model.note: ");
    }
    CHECK_TEXT(recipe_get(r, "model.note"), "");
    recipe_free(r);
    jf_context_free(ctx);
}

/* Names of folders do not go into model files. */
TEST(recipe__a_name_that_is_not_utf8_is_refused) {
    jf_context *ctx = new_context();
    recipe *r = NULL;
    CHECK_STATUS(recipe_create(ctx, &r, "a/caf\xE9.ini"), JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(ctx), "byte 4 of the recipe's name has code 233, expected a name in UTF-8");
    CHECK(r == NULL);
    CHECK_STATUS(recipe_create(ctx, &r, "caf\xE9/caf\xC3\xA9.ini"), JF_OK);
    CHECK_TEXT(recipe_short_name(r), "caf\xC3\xA9.ini");
    recipe_free(r);
    jf_context_free(ctx);
}

TEST(recipe__failures_of_readers_name_the_place) {
    jf_context *ctx = new_context();
    recipe *r = parse(ctx, WITH_BLOCKS);
    CHECK_STATUS(recipe_fail(r, "model.blocks", "found %d, expected an even number", 1), JF_ERROR_RECIPE);
    CHECK_TEXT(jf_context_error(ctx), "c.ini:2: model.blocks: found 1, expected an even number");
    recipe_fail(r, "train.rate", "too %s", "small");
    CHECK_TEXT(jf_context_error(ctx), "c.ini: train.rate: too small");
    CHECK_STATUS(recipe_set(r, "train.rate", "0.5"), JF_OK);
    recipe_fail(r, "train.rate", "too %s", "large");
    CHECK_TEXT(jf_context_error(ctx), "set train.rate: too large");
    recipe_free(r);
    jf_context_free(ctx);
}

/* ---- writing ---- */

TEST(recipe__writes_what_applies_section_by_section) {
    jf_context *ctx = new_context();
    recipe *r = parse(ctx, "[model]\nblocks = 4\nnote = hello  there\n[train]\nrate = 0.5\n");
    text t = {0};
    recipe_write(r, &t, 0);
    CHECK_TEXT(t.chars, "[data]\nset = crescents\nwidth = 0.1\n\n"
                        "[train]\nrate = 0.5\nepochs = 100\nanneal = yes\n\n"
                        "[model]\nblocks = 4\nlaws = affine\nnote = hello  there\nshift = -1.5\nfloor = 0\n");
    text_free(&t);
    recipe_free(r);
    jf_context_free(ctx);
}

TEST(recipe__what_is_written_reads_back_the_same) {
    jf_context *ctx = new_context();
    for (int with_docs = 0; with_docs <= 1; with_docs++) {
        recipe *r =
            parse(ctx, "[model]\nblocks = 4\nnote = a#b;c = d\n[data]\nset = table\nfile = a b.csv\n");
        CHECK_STATUS(recipe_set(r, "train.rate", "0.125"), JF_OK);
        text first = {0}, second = {0};
        recipe_write(r, &first, with_docs);
        recipe *again = parse(ctx, first.chars);
        CHECK_STATUS(recipe_check(again), JF_OK);
        CHECK_TEXT(recipe_get(again, "model.note"), "a#b;c = d");
        CHECK_TEXT(recipe_get(again, "data.file"), "a b.csv");
        CHECK(recipe_real(again, "train.rate") == 0.125);
        recipe_write(again, &second, with_docs);
        CHECK_TEXT(second.chars, first.chars);
        text_free(&first);
        text_free(&second);
        recipe_free(r);
        recipe_free(again);
    }
    jf_context_free(ctx);
}

TEST(recipe__template_explains_every_key) {
    jf_context *ctx = new_context();
    recipe *r = parse(ctx, "");
    text t = {0};
    recipe_write(r, &t, 1);
    CHECK_HAS(t.chars,
              "[train]\n\n# Step size of the optimiser.\n# A number from 1e-08 to 1; default 0.001.\n"
              "rate = 0.001\n");
    CHECK_HAS(t.chars, "# Number of blocks.\n# A whole number from 1 to 64; must be given.\n# blocks =\n");
    CHECK_HAS(t.chars, "# One of crescents, table; default crescents.\nset = crescents\n");
    CHECK_HAS(t.chars, "# Free text.\n# Text; nothing by default.\nnote =\n");
    text_free(&t);
    recipe_free(r);
    jf_context_free(ctx);
}

TEST(recipe__template_says_where_a_key_applies) {
    static const recipe_key one[] = {{"model", "one", KEY_BOOL, "no", 0, 0, NULL, "Of one set."}, {0}},
                            several[] = {{"model", "several", KEY_BOOL, "no", 0, 0, NULL, "Of several."},
                                         {0}};
    jf_context *ctx = new_context();
    recipe *r = parse(ctx, WITH_BLOCKS);
    CHECK_STATUS(recipe_declare(r, one, "data.set=crescents"), JF_OK);
    CHECK_STATUS(recipe_declare(r, several, "train.anneal=yes"), JF_OK);
    CHECK_STATUS(recipe_declare(r, several, "data.set=table"), JF_OK);
    CHECK_STATUS(recipe_declare(r, several, "train.anneal=no"), JF_OK);
    text t = {0};
    recipe_write(r, &t, 1);
    CHECK_HAS(t.chars, "# Yes or no; default no; only where data.set = crescents.\none = no\n");
    CHECK_HAS(t.chars, "# Yes or no; default no; only where train.anneal = yes or no.\nseveral = no\n");
    text_free(&t);
    recipe_free(r);
    jf_context_free(ctx);
}

TEST(recipe__a_table_declared_twice_is_written_once) {
    static const recipe_key keys[] = {{"s", "a", KEY_TEXT, "x", 0, 0, NULL, "a"}, {0}};
    jf_context *ctx = new_context();
    recipe *r = parse(ctx, WITH_BLOCKS);
    CHECK_STATUS(recipe_declare(r, keys, NULL), JF_OK);
    CHECK_STATUS(recipe_declare(r, keys, NULL), JF_OK);
    CHECK_STATUS(recipe_declare(r, keys, "data.set=crescents"), JF_OK);
    text t = {0};
    recipe_write(r, &t, 0);
    const char *found = strstr(t.chars, "[s]\na = x\n");
    CHECK(found != NULL && strstr(found + 1, "[s]") == NULL && strstr(found + 6, "a = x") == NULL);
    text_free(&t);
    recipe_free(r);
    jf_context_free(ctx);
}

TEST(recipe__what_is_written_is_complete_and_what_leaves_a_key_to_its_default_is_not) {
    static const recipe_key keys[] = {{"model", "newer", KEY_WORDS, "old", 0, 0, NULL, "A newer key."}, {0}},
                            others[] = {{"model", "elsewhere", KEY_INT, "1", 0, 9, NULL, "Not here."}, {0}};
    jf_context *ctx = new_context();
    recipe *r = parse(ctx, WITH_BLOCKS), *again = NULL;
    CHECK_STATUS(recipe_declare(r, keys, NULL), JF_OK);
    CHECK_STATUS(recipe_declare(r, others, "model.newer=new"), JF_OK);
    CHECK_STATUS(recipe_check(r), JF_OK);
    CHECK_STATUS(recipe_check_complete(r), JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(ctx), "missing, expected a value for every key that applies");
    text t = {0};
    recipe_write(r, &t, 0);
    CHECK_HAS(t.chars, "newer = old\n");
    again = parse(ctx, t.chars);
    CHECK_STATUS(recipe_check_complete(again), JF_OK);
    CHECK_STATUS(recipe_declare(again, keys, NULL), JF_OK);
    CHECK_STATUS(recipe_declare(again, others, "model.newer=new"), JF_OK);
    CHECK_STATUS(recipe_check_complete(again), JF_OK);
    CHECK_STATUS(recipe_set(again, "model.newer", "new"), JF_OK);
    CHECK_STATUS(recipe_check_complete(again), JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(ctx), "model.elsewhere: missing");
    text_free(&t);
    recipe_free(r);
    recipe_free(again);
    jf_context_free(ctx);
}

TEST(recipe__a_clone_is_equal_and_independent) {
    jf_context *ctx = new_context();
    recipe *r = parse(ctx, WITH_BLOCKS), *copy = NULL;
    CHECK_STATUS(recipe_set(r, "train.epochs", "5"), JF_OK);
    CHECK_STATUS(recipe_clone(&copy, r), JF_OK);
    text a = {0}, b = {0};
    recipe_write(r, &a, 1);
    recipe_write(copy, &b, 1);
    CHECK_TEXT(b.chars, a.chars);
    CHECK(recipe_line(copy, "model.blocks") == 2 && recipe_line(copy, "train.epochs") == 0);
    CHECK_STATUS(recipe_set(copy, "train.epochs", "6"), JF_OK);
    CHECK(recipe_int(r, "train.epochs") == 5 && recipe_int(copy, "train.epochs") == 6);
    text_free(&a);
    text_free(&b);
    recipe_free(r);
    recipe_free(copy);
    jf_context_free(ctx);
}

/* ---- damaged files ---- */

TEST(recipe__damaged_files_are_refused_or_read_but_never_harm) {
    static const char good[] =
        "# damaged\n[train]\nrate = 0.25 ; step\nepochs = 7\nanneal = off\n[model]\n"
        "blocks = 12\nlaws = shear, affine\nnote = a#b\n[data]\nset = table\nfile = x.csv\n";
    jf_context *ctx = new_context();
    rng random = rng_stream((rng_key){.seed = 1, .purpose = RNG_TEST}, 0);
    int refused = 0, read = 0;
    for (int i = 0; i < 4000; i++) {
        char damaged[sizeof good];
        memcpy(damaged, good, sizeof good);
        size_t length = sizeof good - 1;
        if (i % 3 == 0) length = rng_below(&random, (uint32_t)length);
        damaged[length] = '\0';
        for (uint32_t flips = 1 + rng_below(&random, 3); length && flips > 0; flips--)
            damaged[rng_below(&random, (uint32_t)length)] = (char)rng_bits(&random);
        recipe *r = NULL;
        jf_status status = recipe_parse(ctx, &r, damaged, "c.ini");
        if (status == JF_OK) {
            declare(r);
            status = recipe_check(r);
        }
        if (status == JF_OK) { /* what was accepted can be written and read again */
            text t = {0};
            recipe_write(r, &t, 1);
            recipe *again = parse(ctx, t.chars);
            CHECK_STATUS(recipe_check(again), JF_OK);
            recipe_free(again);
            text_free(&t);
            read++;
        } else {
            CHECK_STATUS(status, JF_ERROR_RECIPE);
            CHECK_HAS(jf_context_error(ctx), "c.ini");
            refused++;
        }
        recipe_free(r);
    }
    CHECK(refused > 500 && read > 100);
    jf_context_free(ctx);
}
