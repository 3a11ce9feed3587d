/* Opens, fills and joins stores; see store.h. */
#include "cmd/sweep/store.h"

#include "alloc/base/str.h"
#include "cmd/results/metrics.h"
#include "cmd/sweep/store_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PENDING "-pending"

struct tp_store {
    struct tp_sql sql;
    char *path, *pending_path;
    FILE *pending; /* lines that are not committed; NULL: opened for reading */
    struct tp_line_store lines;
    sqlite3_stmt *has, *identity;
    bool locked; /* the file of pending lines, by this process */
    bool begun;  /* a transaction is open */
};

const struct tp_sql *tp_store_sql(const struct tp_store *store)
{
    return &store->sql;
}

/* ---- transactions ---- */

static int begin(struct tp_store *store, struct tp_err *err)
{
    if (store->begun)
        return TP_OK;
    int status = tp_sql_run(&store->sql, "BEGIN IMMEDIATE", err);
    store->begun = !status;
    return status;
}

/* Lines stay pending until the commit is on the disk. */
int tp_store_commit(struct tp_store *store, struct tp_err *err)
{
    if (!store->begun)
        return TP_OK;
    int status = tp_sql_run(&store->sql, "COMMIT", err);
    if (status)
        return status;
    store->begun = false;
    if (store->pending && ftruncate(fileno(store->pending), 0))
        return tp_fail_write(err, store->pending_path);
    return TP_OK;
}

/* ---- what is pending ---- */

/* Two sweeps must not write to one store. A file system without locks locks nothing. */
static int lock_pending(struct tp_store *store, struct tp_err *err)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    store->locked =
        !fcntl(fileno(store->pending), F_OFD_SETLK, &whole) || (errno != EAGAIN && errno != EACCES);
    if (store->locked)
        return TP_OK;
    return tp_hint(err, tp_fail(err, TP_EIO, "%s: another sweep writes to this store", store->path),
                   "wait until it has ended, or give --store FILE");
}

/* Opens lines that are pending. A pipe is not waited for. */
static int open_lines(const char *path, int flags, FILE **out, struct tp_err *err)
{
    struct stat file;
    int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    int status = TP_OK;
    *out = NULL;
    if (fd < 0 || fstat(fd, &file))
        status = tp_fail(err, TP_EIO, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(file.st_mode))
        status = tp_fail(err, TP_EIO, "%s: not a regular file", path);
    else if (!(*out = fdopen(fd, flags & O_APPEND ? "a+" : "r")))
        status = tp_fail(err, TP_EIO, "%s: %s", path, strerror(errno));
    if (status && fd >= 0)
        close(fd);
    return status;
}

/* The sweep that had the lock may have removed the file in the meantime: what is written to it then
 * would be lost, and a third sweep would lock a new one. */
static int open_pending(struct tp_store *store, struct tp_err *err)
{
    for (;;) {
        struct stat file = {.st_nlink = 1};
        int status =
            open_lines(store->pending_path, O_RDWR | O_APPEND | O_CREAT, &store->pending, err);
        if (!status)
            status = lock_pending(store, err);
        if (status || fstat(fileno(store->pending), &file) || file.st_nlink)
            return status;
        fclose(store->pending);
        store->pending = NULL;
        store->locked = false;
    }
}

/* Stores the lines of a file. The last one may be cut off, where a sweep was killed while it wrote:
 * its cell is computed again. */
static int store_lines(struct tp_store *store, FILE *file, const char *path, struct tp_err *err)
{
    char *line = malloc(TP_STORE_LINE), place[4200];
    int status = line ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t number = 1; !status && fgets(line, TP_STORE_LINE, file); number++) {
        size_t length = strlen(line);
        if (!length || line[length - 1] != '\n')
            break;
        snprintf(place, sizeof place, "%s:%zu", path, number);
        status = begin(store, err);
        if (!status)
            status = tp_line_store(&store->lines, line, length, place, err);
    }
    if (!status && ferror(file))
        status = tp_fail(err, TP_EIO, "%s: %s", path, strerror(errno));
    free(line);
    return status;
}

int tp_store_take(struct tp_store *store, const char *line, size_t length, struct tp_err *err)
{
    int status = begin(store, err);
    if (!status && (fwrite(line, 1, length, store->pending) != length || fflush(store->pending)))
        status = tp_hint(err, tp_fail_write(err, store->pending_path),
                         "free disk space and run the same command again: nothing that was stored "
                         "is lost");
    return status ? status : tp_line_store(&store->lines, line, length, "a worker's answer", err);
}

/* ---- opening ---- */

static int alloc_store(const char *path, struct tp_store **out, struct tp_err *err)
{
    struct tp_store *store = calloc(1, sizeof *store);
    *out = store;
    if (store)
        store->path = strdup(path);
    if (!store || !store->path || asprintf(&store->pending_path, "%s" PENDING, path) < 0)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    return TP_OK;
}

int tp_store_open(const char *path, struct tp_store **out, struct tp_err *err)
{
    int status = alloc_store(path, out, err);
    if (!status && access(path, R_OK))
        status = tp_fail(err, TP_EINPUT, "%s: %s", path, strerror(errno));
    if (!status)
        status = tp_sql_open(&(*out)->sql, (*out)->path, SQLITE_OPEN_READONLY, err);
    if (!status)
        status = tp_store_check(&(*out)->sql, err);
    if (!status)
        return TP_OK;
    tp_store_drop(*out);
    *out = NULL;
    return status;
}

/* The journal is a file beside the store, not shared memory: a store may lie on a shared file
 * system. */
static int open_for_writing(struct tp_store *store, struct tp_err *err)
{
    int status = open_pending(store, err);
    if (!status)
        status =
            tp_sql_open(&store->sql, store->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
    if (!status)
        status =
            tp_sql_run(&store->sql, "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL", err);
    if (!status)
        status = begin(store, err);
    if (!status)
        status = tp_store_create(&store->sql, err);
    if (!status)
        status = tp_line_store_open(&store->lines, &store->sql, err);
    if (!status)
        status =
            tp_sql_prepare(&store->sql, "SELECT 1 FROM cells WHERE name = ?", &store->has, err);
    if (!status)
        status = tp_sql_prepare(
            &store->sql,
            "SELECT t.identity, t.events FROM files f JOIN traces t ON t.id = f.trace"
            " WHERE f.path = ? AND f.reading = ? AND f.bytes = ? AND f.modified_ns = ?",
            &store->identity, err);
    if (!status)
        status = store_lines(store, store->pending, store->pending_path, err);
    return status ? status : tp_store_commit(store, err);
}

int tp_store_write(const char *path, struct tp_store **out, struct tp_err *err)
{
    int status = alloc_store(path, out, err);
    if (!status)
        status = open_for_writing(*out, err);
    if (!status)
        return TP_OK;
    tp_store_drop(*out);
    *out = NULL;
    return status;
}

/* An empty file of pending lines is removed while it is still locked. */
void tp_store_drop(struct tp_store *store)
{
    struct stat file;
    if (!store)
        return;
    tp_line_store_close(&store->lines);
    sqlite3_finalize(store->has);
    sqlite3_finalize(store->identity);
    tp_sql_close(&store->sql);
    if (store->locked && !fstat(fileno(store->pending), &file) && !file.st_size)
        unlink(store->pending_path);
    if (store->pending)
        fclose(store->pending);
    free(store->pending_path);
    free(store->path);
    free(store);
}

int tp_store_close(struct tp_store *store, struct tp_err *err)
{
    int status = store ? tp_store_commit(store, err) : TP_OK;
    tp_store_drop(store);
    return status;
}

/* ---- rows ---- */

int tp_store_has(struct tp_store *store, const char *name, bool *has, struct tp_err *err)
{
    tp_sql_bind(store->has, "b", name);
    int status = tp_sql_step(&store->sql, store->has, has, err);
    sqlite3_reset(store->has);
    return status;
}

int tp_store_identity(struct tp_store *store, const struct tp_store_file *file,
                      char identity[TP_STORE_NAME + 1], uint64_t *events, struct tp_err *err)
{
    bool row;
    tp_sql_bind(store->identity, "ttuu", file->path, file->reading, file->bytes, file->modified_ns);
    int status = tp_sql_step(&store->sql, store->identity, &row, err);
    snprintf(identity, TP_STORE_NAME + 1, "%s",
             !status && row ? tp_sql_text(store->identity, 0) : "");
    *events = !status && row ? (uint64_t)sqlite3_column_int64(store->identity, 1) : 0;
    sqlite3_reset(store->identity);
    return status;
}

/* Runs a statement once. */
static int run_once(struct tp_store *store, const char *sql, const char *const *texts,
                    struct tp_err *err)
{
    sqlite3_stmt *statement;
    int status = begin(store, err);
    if (status)
        return status;
    status = tp_sql_prepare(&store->sql, sql, &statement, err);
    for (int i = 0; !status && texts[i]; i++)
        sqlite3_bind_text(statement, i + 1, texts[i], -1, SQLITE_STATIC);
    if (!status)
        status = tp_sql_finish(&store->sql, statement, err);
    sqlite3_finalize(statement);
    return status;
}

int tp_store_setting(struct tp_store *store, const struct tp_store_setting *s, struct tp_err *err)
{
    int status = run_once(store,
                          "INSERT INTO settings (setting, strategy) VALUES (?, ?)"
                          " ON CONFLICT (setting) DO NOTHING",
                          (const char *const[]){s->text, s->strategy, NULL}, err);
    for (size_t i = 0; !status && s->options[i]; i++) {
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(s->options[i], "="), s->options[i]);
        const char *value = strchr(s->options[i], '=');
        status = run_once(store,
                          "INSERT INTO options (setting, name, value) SELECT id, ?2, ?3 FROM"
                          " settings WHERE setting = ?1 ON CONFLICT (setting, name) DO NOTHING",
                          (const char *const[]){s->text, name, value ? value + 1 : "", NULL}, err);
    }
    return status;
}

int tp_store_note(struct tp_store *store, const char *name, const char *value, struct tp_err *err)
{
    return run_once(store, "INSERT OR REPLACE INTO sweep (name, value) VALUES (?, ?)",
                    (const char *const[]){name, value, NULL}, err);
}

int tp_store_read_note(const struct tp_store *store, const char *name, char *out, size_t size,
                       struct tp_err *err)
{
    const struct tp_sql *sql = &store->sql;
    sqlite3_stmt *statement;
    bool row = false;
    int status = tp_sql_prepare(sql, "SELECT value FROM sweep WHERE name = ?", &statement, err);
    if (status)
        return status;
    tp_sql_bind(statement, "t", name);
    status = tp_sql_step(sql, statement, &row, err);
    snprintf(out, size, "%s", row ? tp_sql_text(statement, 0) : "");
    sqlite3_finalize(statement);
    return status;
}

int tp_store_forget(struct tp_store *store, const char *path, struct tp_err *err)
{
    return run_once(store, "DELETE FROM failures WHERE path = ?", (const char *const[]){path, NULL},
                    err);
}

/* ---- joining ---- */

static const char copies[] =
    "INSERT OR IGNORE INTO sweep SELECT name, value FROM other.sweep;"
    "INSERT INTO traces (" TP_TRACE_COLUMNS ") SELECT " TP_TRACE_COLUMNS
    " FROM other.traces WHERE true" TP_TRACE_KNOWN ";"
    "INSERT OR IGNORE INTO settings (setting, strategy) SELECT setting, strategy FROM"
    " other.settings;"
    "INSERT OR IGNORE INTO options SELECT s.id, o.name, o.value FROM other.options o"
    " JOIN other.settings x ON x.id = o.setting JOIN settings s ON s.setting = x.setting;"
    "INSERT OR REPLACE INTO files SELECT f.path, f.reading, f.bytes, f.modified_ns, t.id FROM"
    " other.files f JOIN other.traces x ON x.id = f.trace JOIN traces t ON t.identity = x.identity;"
    "INSERT OR REPLACE INTO failures SELECT path, setting, passes, status, error FROM"
    " other.failures;";

/* A failure of one store may be a cell of another. */
static const char solved[] =
    "DELETE FROM failures WHERE EXISTS (SELECT 1 FROM files f JOIN cells c ON c.trace = f.trace"
    " JOIN settings s ON s.id = c.setting WHERE f.path = failures.path AND"
    " s.setting = failures.setting AND c.passes = failures.passes);";

static bool other_has(const struct tp_store *store, const char *column)
{
    return sqlite3_table_column_metadata(store->sql.db, "other", "cells", column, NULL, NULL, NULL,
                                         NULL, NULL) == SQLITE_OK;
}

/* An older store lacks the columns of newer metrics. */
static int copy_cells(struct tp_store *store, struct tp_err *err)
{
    struct tp_str into = {0}, from = {0};
    char column[TP_STORE_COLUMN];
    for (size_t i = 0; i < tp_metric_count; i++)
        if (other_has(store, tp_store_column(&tp_metrics[i], column))) {
            tp_str_add(&into, ", %s", column);
            tp_str_add(&from, ", c.%s", column);
        }
    struct tp_str sql = {0};
    tp_str_add(&sql,
               "INSERT OR IGNORE INTO cells (name, trace, setting, passes, tool, machine, seconds"
               "%s) SELECT c.name, t.id, s.id, c.passes, c.tool, c.machine, c.seconds%s FROM"
               " other.cells c JOIN other.traces x ON x.id = c.trace"
               " JOIN traces t ON t.identity = x.identity JOIN other.settings y ON"
               " y.id = c.setting JOIN settings s ON s.setting = y.setting;%s",
               tp_str_text(&into), tp_str_text(&from), solved);
    int status = tp_str_status(&sql, err);
    if (!status)
        status = tp_sql_run(&store->sql, tp_str_text(&sql), err);
    tp_str_drop(&sql);
    tp_str_drop(&into);
    tp_str_drop(&from);
    return status;
}

/* What the other store has pending is taken as well, so that a shard which was killed loses
 * nothing. */
static int take_pending(struct tp_store *store, const char *from, struct tp_err *err)
{
    char path[4200];
    snprintf(path, sizeof path, "%s" PENDING, from);
    FILE *file = NULL;
    if (access(path, F_OK))
        return errno == ENOENT ? TP_OK : tp_fail(err, TP_EIO, "%s: %s", path, strerror(errno));
    int opened = open_lines(path, O_RDONLY, &file, err);
    if (opened)
        return opened;
    int status = store_lines(store, file, path, err);
    fclose(file);
    return status;
}

static bool is_same_store(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return !stat(a, &of_a) && !stat(b, &of_b) && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

int tp_store_merge(struct tp_store *store, const char *from, struct tp_err *err)
{
    struct tp_store *other;
    sqlite3_stmt *attach = NULL;
    int status = tp_store_commit(store, err);
    if (!status && is_same_store(store->path, from))
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "'%.200s' cannot be joined into itself", from),
                       "--store FILE is the store that the others are joined into");
    if (!status)
        status = tp_store_open(from, &other, err); /* for its checks */
    if (status)
        return status;
    tp_store_drop(other);
    status = tp_sql_prepare(&store->sql, "ATTACH ? AS other", &attach, err);
    if (!status) {
        tp_sql_bind(attach, "t", from);
        status = tp_sql_finish(&store->sql, attach, err);
    }
    sqlite3_finalize(attach);
    if (status)
        return status;
    status = begin(store, err);
    if (!status)
        status = tp_sql_run(&store->sql, copies, err);
    if (!status)
        status = copy_cells(store, err);
    if (!status)
        status = take_pending(store, from, err);
    if (!status)
        status = tp_store_commit(store, err);
    struct tp_err ignored;
    if (status && store->begun)
        store->begun = tp_sql_run(&store->sql, "ROLLBACK", &ignored) != TP_OK;
    int detached = tp_sql_run(&store->sql, "DETACH other", status ? &ignored : err);
    return status ? status : detached;
}
