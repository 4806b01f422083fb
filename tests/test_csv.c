/* Tests of tables as text. */
#include "format_fixture.h"

#include "io/csv.h"

static csv_table read_csv(const char *chars) {
    jf_context *ctx = new_context();
    csv_table table;
    if (csv_read(ctx, put_file("t.csv", chars, strlen(chars)), &table) != JF_OK)
        test_fail(__FILE__, __LINE__, "refused: %s", jf_context_error(ctx));
    jf_context_free(ctx);
    return table;
}

static void refuse_as(const char *chars, size_t size, jf_status status, const char *part) {
    jf_context *ctx = new_context();
    csv_table table;
    CHECK_STATUS(csv_read(ctx, put_file("t.csv", chars, size), &table), status);
    CHECK_HAS(jf_context_error(ctx), part);
    CHECK(table.values == NULL && table.names == NULL && table.rows == 0);
    jf_context_free(ctx);
}

TEST(csv__reads_tables_with_any_separator) {
    static const char *const files[] = {"1,2,3\n4,5,6\n",
                                        "1;2;3\n4;5;6",
                                        "1\t2\t3\r\n4\t5\t6\r\n",
                                        "  1 2   3 \n4\t5 6\n",
                                        "1, 2 ,3\n\n# comment\n 4,5 ,  6  \n\n",
                                        "\xEF\xBB\xBF# marked\n1,2,3\n4,5,6\n"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        csv_table t = read_csv(files[i]);
        CHECK(t.rows == 2 && t.columns == 3 && t.names == NULL);
        for (int v = 0; v < 6; v++) CHECK(t.values[v] == v + 1);
        csv_free(&t);
        CHECK(t.values == NULL);
    }
}

TEST(csv__a_first_line_of_names_is_the_header) {
    csv_table t = read_csv("# made by hand\n\nx, \"y, in \"\"m\"\"\",3\n1,2,3\n");
    CHECK(t.rows == 1 && t.columns == 3 && t.names != NULL);
    CHECK_TEXT(t.names[0], "x");
    CHECK_TEXT(t.names[1], "y, in \"m\"");
    CHECK_TEXT(t.names[2], "3");
    csv_free(&t);
    t = read_csv("alpha beta\n1 2\n3 4\n");
    CHECK(t.rows == 2 && t.columns == 2);
    CHECK_TEXT(t.names[1], "beta");
    csv_free(&t);
    t = read_csv(",x\n0,1\n"); /* an unnamed first column, as spreadsheets write it */
    CHECK_TEXT(t.names[0], "");
    csv_free(&t);
    t = read_csv("nan,-inf\n1e3,+.5\n");
    CHECK(t.names == NULL && t.rows == 2 && isnan(t.values[0]) && t.values[1] == -INFINITY);
    CHECK(t.values[2] == 1000 && t.values[3] == 0.5);
    csv_free(&t);
}

TEST(csv__a_header_in_latin_1_is_read_as_that) {
    csv_table t = read_csv("gr\xF6\xDF"
                           "e,\"\x80 / m\xB2\",\"a \"\"\xE9\"\"\"\n1,2,3\n");
    CHECK(t.rows == 1 && t.columns == 3 && t.names != NULL);
    CHECK_TEXT(t.names[0], "größe");
    CHECK_TEXT(t.names[1], "€ / m²");
    CHECK_TEXT(t.names[2], "a \"é\"");
    csv_free(&t);
    t = read_csv("größe,€ / m²\n1,2\n"); /* UTF-8 stays what it is */
    CHECK_TEXT(t.names[0], "größe");
    CHECK_TEXT(t.names[1], "€ / m²");
    csv_free(&t);
}

#define REFUSE_CSV(chars, part)  refuse_as(chars, sizeof chars - 1, JF_ERROR_FORMAT, part)
#define REFUSE_NAME(chars, part) refuse_as(chars, sizeof chars - 1, JF_ERROR_DATA, part)
/* It would be lost without a word. */
TEST(csv__a_first_row_that_is_not_all_numbers_is_no_header) {
    REFUSE_CSV("1_000,2_000\n1,2\n", "t.csv:1: column 1: found \"1_000\", expected a number, or names");
    REFUSE_CSV("1.5,oops,3\n4,5,6\n", "t.csv:1: column 2: found \"oops\"");
    REFUSE_CSV("x,NA,-1e3\n4,5,6\n", "t.csv:1: column 1: found \"x\"");
    REFUSE_CSV("1.5,oops,3\n", "t.csv:1: column 2: found \"oops\""); /* nothing tells what it is */
    REFUSE_CSV("1.2.3,4\n4,5\n", "t.csv:1: column 1: found \"1.2.3\"");
}

/* Tables of these three rows: 1, 2, 3, then one with a missing second value, then 7, 8, 9. */
TEST(csv__missing_values_are_nan_whatever_word_stands_for_them) {
    static const char *const words[] = {"",    " ",    "\"\"", "NA",      "n/a", "#N/A", "<NA>",
                                        "NaT", "NULL", "None", "nil",     "?",   "-",    "--",
                                        "nan", "-NaN", "null", "Missing", "#NA"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char content[64];
        snprintf(content, sizeof content, "1,2,3\n4,%s,6\n7,8,9\n", words[i]);
        csv_table t = read_csv(content);
        CHECK(t.rows == 3 && t.columns == 3 && !t.faults);
        for (int v = 0; v < 9; v++) CHECK(v == 4 ? isnan(t.values[v]) : t.values[v] == v + 1);
        csv_free(&t);
    }
}

TEST(csv__a_first_row_with_missing_values_is_a_row) {
    static const char *const files[] = {"1,NA,3\n4,5,6\n", "1,,3\n4,5,6\n", "1\t\t3\n4\t5\t6\n"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        csv_table t = read_csv(files[i]);
        CHECK(t.rows == 2 && t.columns == 3 && !t.names && isnan(t.values[1]) && t.values[5] == 6);
        csv_free(&t);
    }
}

TEST(csv__booleans_are_0_and_1_in_three_spellings) {
    csv_table t = read_csv("true,False,1\nTRUE,FALSE,0\nTrue,false,1\n");
    for (int row = 0; row < 3; row++) CHECK(t.values[3 * row] == 1 && t.values[3 * row + 1] == 0);
    CHECK(t.rows == 3 && !t.names);
    csv_free(&t);
    REFUSE_CSV("a\n1\ntRUE\n", "t.csv:3: column 1 (\"a\"): found \"tRUE\", expected a number");
}

TEST(csv__text_is_a_fault_of_its_column_alone) {
    static const struct {
        const char *content, *message;
        size_t rows;
        int words;
    } cases[] = {{"a,b\n1,x\n2,y\n", "t.csv:2: column 2 (\"b\"): found \"x\", expected a number", 2, 2},
                 {"1.5,anna\n2.5,bert\n", "t.csv:1: column 2: found \"anna\", expected a number", 2, 2},
                 {"a,b\n1,NA\n2,2020-01-02\n", "t.csv:3: column 2 (\"b\"): found \"2020-01-02\"", 2, 1},
                 {"a,b\n1,x\n2,7\n", "t.csv:2: column 2 (\"b\"): found \"x\", expected a number", 2, 0}};
    jf_context *ctx = new_context();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        csv_table t;
        const char *path = put_file("t.csv", cases[i].content, strlen(cases[i].content));
        CHECK_STATUS(csv_read_any(ctx, path, &t), JF_OK);
        CHECK(t.rows == cases[i].rows && t.words[1].count == cases[i].words && t.words[0].count == 0);
        CHECK_STATUS(csv_check_column(ctx, path, &t, 0), JF_OK);
        CHECK_STATUS(csv_check_column(ctx, path, &t, 1), JF_ERROR_FORMAT);
        CHECK_HAS(jf_context_error(ctx), cases[i].message);
        csv_free(&t);
    }
    jf_context_free(ctx);
}

TEST(csv__tab_separated_files_keep_commas_and_empty_fields) {
    jf_context *ctx = new_context();
    const char *content = "a, b\tc\n1\t2\n\t\n3\t\n";
    csv_table t;
    CHECK_STATUS(csv_read(ctx, put_file("t.tsv", content, strlen(content)), &t), JF_OK);
    CHECK(t.rows == 3 && t.columns == 2);
    CHECK_TEXT(t.names[0], "a, b");
    CHECK(t.values[1] == 2 && isnan(t.values[2]) && isnan(t.values[3]) && t.values[4] == 3);
    csv_free(&t);
    jf_context_free(ctx);
}

TEST(csv__names_that_no_file_has_a_place_for_are_refused_by_column) {
    REFUSE_NAME("a,b\x1b[31m\n1,2\n",
                "t.csv:1: column 2: byte 2 of its name has code 27, expected text in UTF-8");
    REFUSE_NAME("a,\"b\tc\"\n1,2\n", "t.csv:1: column 2: byte 2 of its name has code 9");
    REFUSE_NAME("a,b\rc\n1,2\n", "t.csv:1: column 2: byte 2 of its name has code 13");
    REFUSE_NAME("a,b\xC2\x85\n1,2\n", "t.csv:1: column 2: byte 2 of its name has code 194");
    REFUSE_NAME("a,b\xE9\x81\n1,2\n", "t.csv:1: column 2: byte 4 of its name has code 194");
    REFUSE_CSV("a,\"b\nc\"\n1,2\n", "t.csv:1: column 2: found a quote that is not closed");
}

TEST(csv__names_may_hold_digits_and_quotes_make_a_name_of_anything) {
    static const char *const headers[] = {"x0,x1,y",  "\"1\",\"-2.5\",\"NA\"", "id,2019,2020",
                                          "x,NA,1st", "inflow,nano,inf_",      "_,\"\",a"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        char content[128];
        snprintf(content, sizeof content, "%s\n1,2,3\n", headers[i]);
        csv_table t = read_csv(content);
        CHECK(t.names != NULL && t.rows == 1 && t.columns == 3);
        csv_free(&t);
    }
}

TEST(csv__refuses_rows_that_do_not_fit_with_line_and_column) {
    REFUSE_CSV("1,2\n3\n", "t.csv:2: found 1 columns, expected 2 as in line 1");
    REFUSE_CSV("a,b\n\n1,2,3\n", "t.csv:3: found 3 columns, expected 2 as in line 1");
    REFUSE_CSV("1,2\n3,4,\n", "t.csv:2: found 3 columns, expected 2 as in line 1");
    REFUSE_CSV("a,b\n1,2\n3,x4\n", "t.csv:3: column 2 (\"b\"): found \"x4\", expected a number");
    REFUSE_CSV("1,2\n3,4x\n", "t.csv:2: column 2: found \"4x\", expected a number");
    REFUSE_CSV("1;2\n1,5;2\n", "t.csv:2: column 1: found \"1,5\", expected a number");
    REFUSE_CSV("1,2\n0x10,2\n", "t.csv:2: column 1: found \"0x10\", expected a number");
    REFUSE_CSV("\"1\",\"2\"\n\"3\",\"4\"\n", "t.csv:2: column 1 (\"1\"): found '\"3\"', expected a number");
    REFUSE_CSV("", "t.csv: found no rows of numbers, expected at least one");
    REFUSE_CSV("\n# only a comment\n", "t.csv: found no rows of numbers");
    REFUSE_CSV("a,b\n", "t.csv: found no rows of numbers");
    REFUSE_CSV("1,2\n3,\0004\n", "t.csv: not a text file");
    REFUSE_CSV("1\n\x1b[31m\n", "t.csv:2: column 1: found \"?[31m\", expected a number");
}

TEST(csv__write_then_read_gives_the_same_numbers_and_names) {
    jf_context *ctx = new_context();
    const char *path = test_path("t.csv");
    enum { ROWS = 200, COLUMNS = 3 };
    static const char *const names[COLUMNS] = {"1e5", "#a \"b\"; c", ""};
    double values[ROWS * COLUMNS];
    rng random = rng_stream((rng_key){.seed = 4, .purpose = RNG_TEST}, 0);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        values[i] = 1.7e9 * (i % 2) + rng_normal(&random) * exp(20 * (i % 3) * rng_normal(&random));
    values[4] = INFINITY;
    CHECK_STATUS(csv_write(ctx, path, names, values, ROWS, COLUMNS), JF_OK);
    csv_table t;
    CHECK_STATUS(csv_read(ctx, path, &t), JF_OK);
    CHECK(t.rows == ROWS && t.columns == COLUMNS && t.names != NULL);
    for (int i = 0; i < COLUMNS; i++) CHECK_TEXT(t.names[i], names[i]);
    for (int i = 0; i < ROWS * COLUMNS; i++) CHECK(t.values[i] == values[i]);
    csv_free(&t);
    static const char *const one[] = {"two words"};
    CHECK_STATUS(csv_write(ctx, path, one, values, 2, 1), JF_OK);
    CHECK_STATUS(csv_read(ctx, path, &t), JF_OK);
    CHECK(t.columns == 1 && t.rows == 2);
    CHECK_TEXT(t.names[0], "two words");
    csv_free(&t);
    jf_context_free(ctx);
}

TEST(csv__writes_plain_text) {
    jf_context *ctx = new_context();
    static const char *const names[] = {"x", "y"}, *const broken[] = {"x", "y\nz"};
    static const double values[] = {0.1, -2, 1e-10, 123456789};
    char *chars = NULL;
    size_t size = 0;
    CHECK_STATUS(csv_write(ctx, test_path("t.csv"), names, values, 2, 2), JF_OK);
    CHECK_STATUS(file_read(ctx, &chars, &size, test_path("t.csv"), 1000), JF_OK);
    CHECK_TEXT(chars, "x,y\n0.1,-2\n1e-10,123456789\n");
    free(chars);
    CHECK_STATUS(csv_write(ctx, test_path("t.csv"), broken, values, 2, 2), JF_ERROR_ARGUMENT);
    CHECK_HAS(jf_context_error(ctx), "a column name holds a line break");
    CHECK_STATUS(csv_write(ctx, test_path("t.csv"), NULL, values, 2, 0), JF_ERROR_ARGUMENT);
    CHECK_STATUS(csv_write(ctx, "/nowhere/t.csv", NULL, values, 2, 2), JF_ERROR_IO);
    CHECK_STATUS(csv_read(ctx, "/nowhere/t.csv", &(csv_table){0}), JF_ERROR_IO);
    jf_context_free(ctx);
}

TEST(csv__damaged_files_are_refused_or_read_but_never_harm) {
    static const char good[] = "\"x, in m\",y,z\n0.5,-1e-3,7\n# between\n1.25,nan,8\n  3 , 4,\t5\n10,11,12\n";
    jf_context *ctx = new_context();
    rng random = rng_stream((rng_key){.seed = 5, .purpose = RNG_TEST}, 0);
    const char *path = test_path("damaged.csv");
    int refused = 0, read = 0;
    for (int i = 0; i < 1500; i++) {
        char bytes[sizeof good];
        memcpy(bytes, good, sizeof good);
        size_t length = damage(&random, bytes, sizeof good - 1);
        put_quickly(path, bytes, length);
        csv_table t;
        jf_status status = csv_read(ctx, path, &t);
        if (status == JF_OK) {
            CHECK(t.rows > 0 && t.columns > 0);
            for (size_t v = 0; v < t.rows * t.columns; v++) read += t.values[v] == 1e300;
            for (size_t c = 0; t.names && c < t.columns; c++) CHECK(strlen(t.names[c]) < sizeof good);
            read++;
        } else {
            CHECK(status == JF_ERROR_FORMAT || status == JF_ERROR_DATA); /* the latter: a name */
            refused++;
        }
        csv_free(&t);
    }
    CHECK(refused > 300 && read > 100);
    jf_context_free(ctx);
}
