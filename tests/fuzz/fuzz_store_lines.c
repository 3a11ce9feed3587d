/* Fuzz target: the lines that are pending beside the store of a sweep, which anybody may have
 * written. Whatever the bytes are, a line is a row of the store, or an error with one clean
 * sentence that names the place; the rows refer to rows that are there, and a line that is stored
 * twice adds none. */
#include "cmd/sweep/store_lines.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static struct tp_sql lines_sql;
static struct tp_line_store lines_store;

/* One store serves all inputs: each is rolled back. */
static void open_once(void)
{
    struct tp_err err;
    if (lines_sql.db)
        return;
    must(!tp_sql_open(&lines_sql, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &err));
    must(!tp_store_create(&lines_sql, &err));
    must(!tp_sql_run(&lines_sql, "INSERT INTO settings (setting, strategy) VALUES ('lru', 'lru')",
                     &err));
    must(!tp_line_store_open(&lines_store, &lines_sql, &err));
}

static int64_t count_rows(const char *sql)
{
    struct tp_err err;
    int64_t count;
    must(!tp_sql_number(&lines_sql, sql, &count, &err));
    return count;
}

static int64_t all_rows(void)
{
    return count_rows("SELECT (SELECT count(*) FROM traces) + (SELECT count(*) FROM files) +"
                      " (SELECT count(*) FROM cells) + (SELECT count(*) FROM failures)");
}

static void store_line(const char *line, size_t length)
{
    struct tp_err err = {0};
    int status = tp_line_store(&lines_store, line, length, "fuzz", &err);
    if (!status) {
        int64_t rows = all_rows();
        must(!tp_line_store(&lines_store, line, length, "fuzz", &err));
        must(all_rows() == rows);
        return;
    }
    must(status == TP_EINPUT || status == TP_EIO);
    must(!strncmp(err.text, "fuzz", 4) || !strncmp(err.text, ":memory:", 8));
    for (const char *c = err.text; *c; c++)
        must((unsigned char)*c >= 0x20 && *c != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tp_err err;
    const char *line = (const char *)data, *end = line + size;
    open_once();
    must(!tp_sql_run(&lines_sql, "BEGIN", &err));
    while (line < end) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *behind = newline ? newline + 1 : end;
        store_line(line, (size_t)(behind - line));
        line = behind;
    }
    must(count_rows("SELECT count(*) FROM cells") == count_rows("SELECT count(*) FROM results"));
    must(!count_rows("SELECT count(*) FROM cells WHERE length(name) <> 16"));
    must(!count_rows("SELECT count(*) FROM files WHERE trace NOT IN (SELECT id FROM traces)"));
    must(!tp_sql_run(&lines_sql, "ROLLBACK", &err));
    return 0;
}
