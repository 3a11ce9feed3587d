/* See sql.h. */
#include "cmd/sweep/sql.h"

#include "cmd/ui/stop.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/stat.h>

enum {
    CACHE_KIB = 64 << 10, /* pages of a file in memory */
    STEPS = 100000,       /* of SQLite between two looks at signals */
    VALUE_BYTES = 1 << 20 /* a text or a statement, at most */
};

static int status_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_ERROR: /* a table that is not as it should be */
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
    case SQLITE_SCHEMA:
    case SQLITE_TOOBIG:
        return TP_EINPUT;
    case SQLITE_NOMEM:
        return TP_ENOMEM;
    default:
        return TP_EIO;
    }
}

/* A statement over millions of rows ends when a signal asks for it. */
static int is_stopped(void *ctx)
{
    (void)ctx;
    return *tp_stop_flag() != 0;
}

int tp_sql_fail(const struct tp_sql *s, struct tp_err *err)
{
    if (s->db && (sqlite3_errcode(s->db) & 0xff) == SQLITE_INTERRUPT)
        return tp_fail(err, TP_ESTOP, "%s: interrupted", s->path);
    int code = s->db ? sqlite3_extended_errcode(s->db) : SQLITE_NOMEM;
    int status = tp_fail(err, (enum tp_status)status_of(code), "%s: %s", s->path,
                         s->db ? sqlite3_errmsg(s->db) : "out of memory");
    if ((code & 0xff) == SQLITE_FULL)
        return tp_hint(err, status,
                       "free disk space and run the same command again: "
                       "nothing that was stored is lost");
    if (code == SQLITE_READONLY_ROLLBACK)
        return tp_hint(err, status,
                       "a sweep was killed while it wrote: run it again, which puts that right");
    if ((code & 0xff) == SQLITE_BUSY)
        return tp_hint(err, status, "another process writes to it");
    return status;
}

int tp_sql_run(const struct tp_sql *s, const char *statements, struct tp_err *err)
{
    return sqlite3_exec(s->db, statements, NULL, NULL, NULL) ? tp_sql_fail(s, err) : TP_OK;
}

int tp_sql_open(struct tp_sql *s, const char *path, int flags, struct tp_err *err)
{
    static const int switches[][2] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                      {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0}};
    char pragmas[200];
    struct stat file;
    *s = (struct tp_sql){.path = path};
    if (!stat(path, &file) && !S_ISREG(file.st_mode)) /* a pipe would be waited for */
        return tp_fail(err, TP_EINPUT, "%s: not a regular file", path);
    if (sqlite3_open_v2(path, &s->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return tp_sql_fail(s, err);
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        sqlite3_db_config(s->db, switches[i][0], switches[i][1], NULL);
    sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, VALUE_BYTES);
    sqlite3_extended_result_codes(s->db, 1);
    sqlite3_progress_handler(s->db, STEPS, is_stopped, NULL);
    sqlite3_busy_timeout(s->db, 10000);
    snprintf(pragmas, sizeof pragmas,
             "PRAGMA cache_size = -%d; PRAGMA cell_size_check = 1; PRAGMA mmap_size = 0; "
             "PRAGMA temp_store = FILE;",
             CACHE_KIB);
    return tp_sql_run(s, pragmas, err);
}

void tp_sql_close(struct tp_sql *s)
{
    sqlite3_close(s->db);
    s->db = NULL;
}

int tp_sql_prepare(const struct tp_sql *s, const char *text, sqlite3_stmt **out, struct tp_err *err)
{
    *out = NULL;
    return sqlite3_prepare_v2(s->db, text, -1, out, NULL) ? tp_sql_fail(s, err) : TP_OK;
}

static unsigned digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

static void bind_name(sqlite3_stmt *statement, int at, const char *digits)
{
    uint8_t bytes[16];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(digit(digits[2 * i]) << 4 | digit(digits[2 * i + 1]));
    sqlite3_bind_blob(statement, at, bytes, sizeof bytes, SQLITE_TRANSIENT);
}

static void bind_real(sqlite3_stmt *statement, int at, double value)
{
    if (isnan(value))
        sqlite3_bind_null(statement, at);
    else
        sqlite3_bind_double(statement, at, value);
}

static void bind_whole(sqlite3_stmt *statement, int at, uint64_t value)
{
    if (value > INT64_MAX)
        sqlite3_bind_null(statement, at);
    else
        sqlite3_bind_int64(statement, at, (sqlite3_int64)value);
}

void tp_sql_bind(sqlite3_stmt *statement, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    for (int at = 1; types[at - 1]; at++) {
        char type = types[at - 1];
        if (type == 't')
            sqlite3_bind_text(statement, at, va_arg(args, const char *), -1, SQLITE_STATIC);
        else if (type == 'i')
            sqlite3_bind_int64(statement, at, va_arg(args, int64_t));
        else if (type == 'u')
            bind_whole(statement, at, va_arg(args, uint64_t));
        else if (type == 'r')
            bind_real(statement, at, va_arg(args, double));
        else
            bind_name(statement, at, va_arg(args, const char *));
    }
    va_end(args);
}

int tp_sql_step(const struct tp_sql *s, sqlite3_stmt *statement, bool *row, struct tp_err *err)
{
    int code = sqlite3_step(statement);
    int status = code == SQLITE_ROW || code == SQLITE_DONE ? TP_OK : tp_sql_fail(s, err);
    *row = code == SQLITE_ROW;
    if (!*row)
        sqlite3_reset(statement);
    return status;
}

int tp_sql_finish(const struct tp_sql *s, sqlite3_stmt *statement, struct tp_err *err)
{
    bool row = true;
    int status = TP_OK;
    while (!status && row)
        status = tp_sql_step(s, statement, &row, err);
    return status;
}

int tp_sql_number(const struct tp_sql *s, const char *text, int64_t *out, struct tp_err *err)
{
    sqlite3_stmt *statement;
    bool row = false;
    int status = tp_sql_prepare(s, text, &statement, err);
    if (!status)
        status = tp_sql_step(s, statement, &row, err);
    *out = row ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return status;
}

const char *tp_sql_text(sqlite3_stmt *statement, int column)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    return text ? (const char *)text : "";
}

double tp_sql_real(sqlite3_stmt *statement, int column)
{
    return sqlite3_column_type(statement, column) == SQLITE_NULL
               ? NAN
               : sqlite3_column_double(statement, column);
}
