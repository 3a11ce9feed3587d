/* See malloc_settings.h. */
#include "cmd/tune/malloc_settings.h"

#include "alloc/base/grow.h"
#include "alloc/base/malloc_variables.h"
#include "alloc/base/str.h"
#include "cmd/jobs/libraries.h"
#include "cmd/tune/grid.h"
#include "cmd/ui/environment.h"

#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* How a library is set. In the texts %s is the name of a knob, %S is the same in capitals. */
struct family {
    const char *library; /* the beginning of a name of tp_libraries */
    const char *known;   /* what its file contains if it knows a knob */
    /* A variable for each knob, the first that the file contains; NULL: none has its own. */
    const char *own[2];
    /* One variable for all knobs, with what stands between a name and a value, and two knobs. */
    const char *joined, *assign, *separator;
    const char
        *value; /* the characters of a value, where the library says nothing of a wrong one */
};

static const struct family families[] = {
    {"glibc",
     "glibc.malloc.%s",
     {"MALLOC_%S", "MALLOC_%S_"},
     "GLIBC_TUNABLES=glibc.malloc.%s",
     "=",
     ":glibc.malloc.%s",
     "0123456789"},
    {"jemalloc", "opt.%s", {NULL}, "MALLOC_CONF=%s", ":", ",%s", NULL},
    {"mimalloc", "%s", {"MIMALLOC_%S"}, NULL, NULL, NULL, NULL},
    {"tcmalloc", "TCMALLOC_%S", {"TCMALLOC_%S"}, NULL, NULL, NULL, "0123456789."},
};

/* Settings worth trying. A grid with a name that the library here does not know is left out: 2.1 of
 * mimalloc calls purge_delay what was decommit_delay before. */
static const struct usual {
    const char *library;
    bool threads; /* only where several threads allocate */
    const char *grid;
} usual[] = {
    {"glibc", true, "arena_max=1|2|4"},
    {"glibc", true, "arena_max=1|2,trim_threshold=131072"},
    {"glibc", true, "arena_max=1,mmap_threshold=131072"},
    {"glibc", true, "arena_max=1,tcache_count=0"},
    {"glibc", false, "mmap_threshold=65536|131072|1048576|33554432"},
    {"glibc", false, "trim_threshold=65536|131072|33554432"},
    {"glibc", false, "mmap_threshold=131072,trim_threshold=131072"},
    {"glibc", false, "tcache_count=0|32|127"},
    {"glibc", false, "top_pad=0|1048576"},
    {"glibc", false, "mxfast=0"},
    {"jemalloc", true, "narenas=1|2|4,dirty_decay_ms=default|1000|0"},
    {"jemalloc", true, "percpu_arena=percpu"},
    {"jemalloc", false, "dirty_decay_ms=0|100|1000|60000"},
    {"jemalloc", false, "dirty_decay_ms=0|1000,muzzy_decay_ms=1000"},
    {"jemalloc", false, "background_thread=true,dirty_decay_ms=default|1000"},
    {"jemalloc", false, "thp=always|never"},
    {"jemalloc", false, "tcache=false,dirty_decay_ms=default|0"},
    {"jemalloc", false, "lg_tcache_max=12|16"},
    {"jemalloc", false, "lg_extent_max_active_fit=3"},
    {"mimalloc", false, "decommit_delay=0|5|100|1000"},
    {"mimalloc", false, "decommit_delay=0,segment_decommit_delay=0"},
    {"mimalloc", false, "segment_decommit_delay=0|100"},
    {"mimalloc", false, "allow_decommit=0"},
    {"mimalloc", false, "purge_delay=-1|0|50|500"},
    {"mimalloc", false, "purge_delay=0,purge_decommits=0"},
    {"mimalloc", false, "arena_eager_commit=0|1"},
    {"mimalloc", false, "arena_reserve=65536"},
    {"mimalloc", false, "page_reset=1"},
    {"mimalloc", false, "eager_commit=0"},
    {"mimalloc", false, "eager_commit_delay=0|4"},
    {"mimalloc", true, "abandoned_page_decommit=1"},
    {"mimalloc", true, "abandoned_page_purge=1"},
    {"mimalloc", false, "large_os_pages=1"},
    {"tcmalloc", false, "release_rate=0|5|10"},
    {"tcmalloc", false, "aggressive_decommit=1"},
    {"tcmalloc", false, "max_total_thread_cache_bytes=524288|4194304|134217728"},
    {"tcmalloc", true, "aggressive_decommit=1,max_total_thread_cache_bytes=524288|4194304"},
    {"tcmalloc", false, "aggressive_decommit=1,release_rate=10"},
    {"tcmalloc", false, "transfer_num_obj=128"},
    {"tcmalloc", false, "skip_mmap=1"},
};

static const struct family *family_of(const char *library)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (!strncmp(library, families[i].library, strlen(families[i].library)))
            return &families[i];
    return NULL;
}

/* The C library, which is not preloaded. */
static bool is_libc(const char *library)
{
    return !strcmp(library, "glibc");
}

static void release(struct tp_malloc_setting *s)
{
    free(s->library);
    free(s->strategy);
    free(s->paste);
}

/* ---- texts ---- */

/* Adds `form` with a name in it. */
static void add_named(struct tp_str *out, const char *form, const char *name)
{
    const char *at = strchr(form, '%');
    tp_str_add(out, "%.*s", (int)(at - form), form);
    for (const char *c = name; *c; c++)
        tp_str_add(out, "%c", at[1] == 'S' ? toupper((unsigned char)*c) : *c);
    tp_str_add(out, "%s", at + 2);
}

/* ---- what a library's file contains ---- */

struct library_file {
    const char *text;
    size_t size;
};

/* The C library's names are in its dynamic linker. */
static bool find_linker(char *path)
{
    Dl_info info;
    const void *at = (const void *)(uintptr_t)getauxval(AT_BASE);
    return at && dladdr(at, &info) && info.dli_fname &&
           snprintf(path, TP_LIBRARY_PATH, "%s", info.dli_fname) < TP_LIBRARY_PATH;
}

static bool open_file(const char *library, struct library_file *out)
{
    char path[TP_LIBRARY_PATH];
    struct stat st = {0};
    bool found =
        is_libc(library) ? find_linker(path) : tp_library_find(library, path, NULL) == TP_OK;
    int fd = found ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *text = fd >= 0 && !fstat(fd, &st) && st.st_size > 0
                     ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                     : MAP_FAILED;
    if (fd >= 0)
        close(fd);
    *out = (struct library_file){text == MAP_FAILED ? NULL : text, (size_t)st.st_size};
    return out->text != NULL;
}

static void close_file(const struct library_file *f)
{
    if (f->text)
        munmap((void *)(uintptr_t)f->text, f->size);
}

/* Whether a text ends with `name` in `form`. Linkers merge a text with the end of a longer one. */
static bool contains(const struct library_file *f, const char *form, const char *name)
{
    char room[256];
    struct tp_str wanted = TP_STR_IN(room);
    add_named(&wanted, form, name);
    return !wanted.cut && memmem(f->text, f->size, room, wanted.length + 1);
}

/* ---- one setting ---- */

/* The variables of a setting while they are made of its parts. */
struct malloc_making {
    struct tp_malloc_settings *list;
    const char *library;
    const struct family *family; /* NULL: it has no knobs that are known here */
    struct library_file file;
    bool skips; /* a setting with a name that is not known is left out */
    bool unknown;
    struct tp_str own, joined; /* "A=1 B=2", and the variable for all */
    size_t keys;
};

static int not_known(const struct malloc_making *m, const char *name, struct tp_err *err)
{
    int status = tp_fail(err, TP_EUSAGE, "'%.100s' is not a setting of %s here", name, m->library);
    return m->family ? tp_hint(err, status, "the library's own file does not have this name")
                     : status;
}

/* Whether a text means itself to a shell. */
static bool is_plain(const char *text)
{
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr("_-+.,:=", *text))
            return false;
    return true;
}

/* Adds a part "name:value". */
static int add_part(void *ctx, const char *part, struct tp_err *err)
{
    struct malloc_making *m = ctx;
    const struct family *f = m->family;
    char name[128];
    const char *value = strchr(part, ':') + 1;
    snprintf(name, sizeof name, "%.*s", (int)(value - 1 - part), part);
    for (char *c = name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (!is_plain(part) || strchr(value, '='))
        return tp_fail(err, TP_EUSAGE, "'%.100s' in a grid is not a plain name and value", part);
    if (!f || !contains(&m->file, f->known, name)) {
        m->unknown = true;
        return m->skips ? TP_OK : not_known(m, name, err);
    }
    if (!*value || (f->value && value[strspn(value, f->value)]))
        return tp_fail(err, TP_EUSAGE, "'%.100s' is not a value of %s's %s", value, m->library,
                       name);
    m->keys++;
    for (size_t i = 0; i < 2 && f->own[i]; i++)
        if (contains(&m->file, f->own[i], name) || !f->joined) {
            tp_str_item(&m->own, " ", "%s", "");
            add_named(&m->own, f->own[i], name);
            tp_str_add(&m->own, "=%s", value);
            return TP_OK;
        }
    add_named(&m->joined, m->joined.length ? f->separator : f->joined, name);
    tp_str_add(&m->joined, "%s%s", f->assign, value);
    return TP_OK;
}

/* How a library is preloaded: by the name of its file where the dynamic linker finds it by that. */
static void add_preload(struct tp_str *out, const char *library)
{
    char path[TP_LIBRARY_PATH], found[TP_LIBRARY_PATH];
    if (is_libc(library) || tp_library_find(library, path, NULL))
        return;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    bool by_name = !getenv(TP_LIBRARY_VARIABLE) && tp_library_find(name, found, NULL) == TP_OK &&
                   !strcmp(found, path);
    tp_str_add(out, "LD_PRELOAD=%s", by_name ? name : path);
}

/* Appends a setting and takes its texts. */
static int append(struct tp_malloc_settings *list, struct tp_malloc_setting s, struct tp_err *err)
{
    int status =
        list->count < TP_MALLOC_SETTINGS_MAX
            ? TP_OK
            : tp_fail(err, TP_EUSAGE, "at most %d settings can be tried", TP_MALLOC_SETTINGS_MAX);
    if (!status && (!s.library || !s.strategy || !s.paste))
        status = tp_fail(err, TP_ENOMEM, "out of memory");
    if (!status)
        status = TP_ONE_MORE(&list->items, list->count, err, .what = "settings");
    if (!status)
        list->items[list->count++] = s;
    else
        release(&s);
    return status;
}

/* Adds a setting with variables "A=1 B=2", unless it is there. *number is that of it. */
static int add_setting(struct tp_malloc_settings *list, const char *library, const char *variables,
                       size_t keys, size_t *number, struct tp_err *err)
{
    struct tp_str paste = {0}, strategy = {0};
    add_preload(&paste, library);
    tp_str_add(&strategy, "%s%s",
               is_libc(library) ? "system" : "lib:", is_libc(library) ? "" : library);
    for (const char *at = variables; *at;) {
        size_t length = strcspn(at, " ");
        tp_str_item(&paste, " ", "%.*s", (int)length, at);
        tp_str_add(&strategy, "%senv={%.*s}", strchr(tp_str_text(&strategy), ':') ? "," : ":",
                   (int)length, at);
        at += length + (at[length] == ' ');
    }
    int status = tp_str_status(&paste, err);
    if (!status)
        status = tp_str_status(&strategy, err);
    for (*number = 0; !status && *number < list->count; ++*number)
        if (!strcmp(list->items[*number].strategy, strategy.s))
            break;
    if (!status && *number == list->count)
        status = append(list,
                        (struct tp_malloc_setting){.library = strdup(library),
                                                   .strategy = strdup(strategy.s),
                                                   .paste = strdup(tp_str_text(&paste)),
                                                   .keys = keys},
                        err);
    tp_str_drop(&paste);
    tp_str_drop(&strategy);
    return status;
}

static int add_text(void *ctx, const char *text, struct tp_err *err)
{
    struct malloc_making *m = ctx;
    size_t number;
    m->own = m->joined = (struct tp_str){0};
    m->unknown = false;
    m->keys = 0;
    int status = tp_grid_parts(text, add_part, m, err);
    if (m->own.length && m->joined.length)
        tp_str_add(&m->own, " ");
    if (m->joined.length)
        tp_str_add(&m->own, "%s", m->joined.s);
    if (!status)
        status = tp_str_status(&m->own, err);
    if (!status && !m->unknown)
        status = add_setting(m->list, m->library, tp_str_text(&m->own), m->keys, &number, err);
    if (!status && !m->unknown && !m->skips)
        m->list->items[number].asked = true;
    tp_str_drop(&m->own);
    tp_str_drop(&m->joined);
    return status;
}

/* ---- lists ---- */

static int add_usual(struct tp_malloc_settings *list, const char *library, bool grids, bool threads,
                     struct tp_err *err)
{
    struct malloc_making m = {
        .list = list, .library = library, .family = family_of(library), .skips = true};
    int status = add_text(&m, "", err);
    bool opened =
        grids && m.family && !strcmp(library, m.family->library) && open_file(library, &m.file);
    for (size_t i = 0; !status && opened && i < sizeof usual / sizeof *usual; i++)
        if (!strcmp(usual[i].library, m.family->library) && (threads || !usual[i].threads))
            status = tp_grid_each(usual[i].grid, add_text, &m, err);
    close_file(&m.file);
    return status;
}

int tp_malloc_settings_usual(struct tp_malloc_settings *list, bool grids, bool threads,
                             struct tp_err *err)
{
    const struct tp_library *here[TP_LIBRARIES_MAX];
    size_t count = tp_libraries_here(here);
    int status = add_usual(list, "glibc", grids, threads, err);
    for (size_t i = 0; !status && i < count; i++)
        status = add_usual(list, here[i]->name, grids, threads, err);
    return status;
}

int tp_malloc_settings_add(struct tp_malloc_settings *list, const char *grid, struct tp_err *err)
{
    char name[TP_LIBRARY_PATH], path[TP_LIBRARY_PATH];
    size_t length = strcspn(grid, ":");
    struct malloc_making m = {.list = list, .library = name};
    snprintf(name, sizeof name, "%.*s", (int)length, grid);
    for (const struct tp_library *l = tp_libraries; l->name; l++)
        if (!strcasecmp(name, l->name))
            m.library = l->name;
    if (!grid[length] || length >= sizeof name)
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE, "'%.200s' is not LIBRARY:NAME=VALUE|VALUE", grid),
                       "--grid 'jemalloc:narenas=1|2,dirty_decay_ms=default|0' tries four");
    int status = is_libc(name) ? TP_OK : tp_library_find(name, path, err);
    m.family = family_of(m.library);
    if (!status && m.family && !open_file(m.library, &m.file))
        status = tp_fail(err, TP_EIO, "the file of %s cannot be read", name);
    if (!status)
        status = tp_grid_each(grid + length + 1, add_text, &m, err);
    close_file(&m.file);
    return status;
}

/* ---- the recorded one ---- */

/* The name of tp_libraries for "libjemalloc.so.2 5.3.0"; NULL: not known. */
static const char *library_of(const char *recorded)
{
    size_t length = strcspn(recorded, " ");
    if (!strncmp(recorded, "glibc ", 6))
        return "glibc";
    for (const struct tp_library *l = tp_libraries; l->name; l++)
        for (size_t i = 0; i < sizeof l->sonames / sizeof *l->sonames && l->sonames[i]; i++)
            if (!strncmp(recorded, l->sonames[i], strlen(l->sonames[i])) &&
                length >= strlen(l->sonames[i]))
                return l->name;
    return NULL;
}

/* Whether a text of a trace, which is not trusted, has nothing but variables of a malloc that means
 * itself to a shell and writes no files. */
static bool are_variables(const char *text)
{
    char one[256];
    while (*text) {
        size_t length = strcspn(text, " ");
        snprintf(one, sizeof one, "%.*s", (int)length, text);
        if (length >= sizeof one || !tp_is_malloc_variable(one) || !is_plain(one) ||
            !strchr(one, '=') || strstr(one, "prof") || strstr(one, "TRACE"))
            return false;
        text += length + (text[length] == ' ');
    }
    return true;
}

int tp_malloc_settings_recorded(struct tp_malloc_settings *list, const char *library,
                                const char *variables, struct tp_err *err)
{
    const char *name = library ? library_of(library) : NULL;
    char path[TP_LIBRARY_PATH];
    size_t number, keys = variables && *variables;
    if (!name || (!is_libc(name) && tp_library_find(name, path, NULL)))
        return TP_OK;
    if (keys && !are_variables(variables))
        return TP_OK;
    for (const char *c = variables; keys && *c; c++)
        keys += *c == ' ';
    int status = add_setting(list, name, keys ? variables : "", keys, &number, err);
    if (!status)
        list->items[number].recorded = true;
    return status;
}

const char *tp_malloc_label(const struct tp_malloc_setting *s)
{
    return *s->paste ? s->paste : "glibc, nothing set";
}

void tp_malloc_settings_release(struct tp_malloc_settings *list)
{
    for (size_t i = 0; i < list->count; i++)
        release(&list->items[i]);
    free(list->items);
    *list = (struct tp_malloc_settings){NULL, 0};
}
