/* See libraries.h. A name is looked up in the order of the dynamic linker: the folders of
 * LD_LIBRARY_PATH, its cache, its usual folders. A file that it would not load, such as one for
 * another processor or a linker script, is passed over as it would do.
 *
 *     /etc/ld.so.cache    | head | entries: flags, name, path, ... | texts |
 *                           48 B   24 B each                         offsets count from the head
 *
 * An older form of the cache may stand before the head. The file belongs to root, but it is read as
 * any other: no number in it is believed. */
#include "cmd/jobs/libraries.h"

#include "alloc/base/opt.h"
#include "alloc/base/own.h"
#include "cmd/jobs/elf_file.h"
#include "cmd/ui/environment.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

const struct tp_library tp_libraries[] = {
    {"jemalloc", {"libjemalloc.so.2", "libjemalloc.so.1", "libjemalloc.so"}},
    {"mimalloc", {"libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so.1", "libmimalloc.so"}},
    {"mimalloc-secure",
     {"libmimalloc-secure.so.3", "libmimalloc-secure.so.2", "libmimalloc-secure.so"}},
    {"tcmalloc",
     {"libtcmalloc.so.4", "libtcmalloc_minimal.so.4", "libtcmalloc.so", "libtcmalloc_minimal.so"}},
    {"tcmalloc-minimal", {"libtcmalloc_minimal.so.4", "libtcmalloc_minimal.so"}},
    {"tbbmalloc", {"libtbbmalloc_proxy.so.2", "libtbbmalloc_proxy.so"}},
    {"rpmalloc", {"librpmallocwrap.so", "librpmalloc.so"}},
    {"snmalloc", {"libsnmallocshim.so", "libsnmallocshim-checks.so"}},
    {"hoard", {"libhoard.so"}},
    {"mesh", {"libmesh.so"}},
    {"scudo", {"libscudo.so", "libclang_rt.scudo_standalone-x86_64.so"}},
    {"hardened-malloc", {"libhardened_malloc.so", "libhardened_malloc-light.so"}},
    {"isoalloc", {"libisoalloc.so"}},
    {NULL, {NULL}}};

int tp_library_check(const char *path, struct tp_err *err)
{
    char what[TP_ERR_TEXT];
    struct tp_elf_symbol found;
    snprintf(what, sizeof what, "library '%.300s'", path);
    if (TP_SANITIZED)
        return tp_fail(err, TP_EUSAGE,
                       "%s: this tapool is built with a sanitizer, whose malloc cannot be replaced",
                       what);
    int status = tp_elf_look(path, what, "malloc", NULL, 0, &found, err);
    if (status || !found.known || found.there)
        return status;
    return tp_hint(err, tp_fail(err, TP_EINPUT, "%s has no malloc", what),
                   "'tapool strategies' lists the malloc libraries of this machine");
}

/* ---- looking for a name ---- */

/* Takes `folder`/`file` if it can be loaded. */
static bool take_library(const char *folder, size_t length, const char *file, char *path)
{
    char joined[TP_LIBRARY_PATH];
    int size = snprintf(joined, sizeof joined, "%.*s/%s", (int)length, folder, file);
    char *real = size > 0 && (size_t)size < sizeof joined && tp_library_check(joined, NULL) == TP_OK
                     ? realpath(joined, NULL)
                     : NULL;
    bool fits = real && strlen(real) < TP_LIBRARY_PATH;
    if (fits)
        memcpy(path, real, strlen(real) + 1);
    free(real);
    return fits;
}

/* Looks into folders that are separated by colons; an empty one is the working folder, as the
 * dynamic linker has it, unless the list itself is empty. */
static bool find_in_list(const char *list, const char *file, char *path)
{
    while (list && *list) {
        size_t length = strcspn(list, ":;");
        if (take_library(length ? list : ".", length ? length : 1, file, path))
            return true;
        list += length + (list[length] != '\0');
    }
    return false;
}

struct cache_head {
    char magic[20]; /* with the version */
    uint32_t entries, text_bytes, reserved[5];
};
struct cache_entry {
    int32_t flags;
    uint32_t name, path, os;
    uint64_t processor;
};

/* The text at an offset of the cache; NULL: it does not end within. */
static const char *cache_text(const char *cache, size_t size, uint32_t at)
{
    return at < size && memchr(cache + at, '\0', size - at) ? cache + at : NULL;
}

static bool find_in_entries(const char *cache, size_t size, const char *file, char *path)
{
    struct cache_head head;
    struct cache_entry entry;
    if (size < sizeof head)
        return false;
    memcpy(&head, cache, sizeof head);
    for (uint32_t i = 0; i < head.entries; i++) {
        size_t at = sizeof head + i * sizeof entry;
        if (at > size - sizeof entry)
            return false;
        memcpy(&entry, cache + at, sizeof entry);
        const char *name = cache_text(cache, size, entry.name);
        const char *value = cache_text(cache, size, entry.path);
        const char *slash = value ? strrchr(value, '/') : NULL;
        if (name && slash && !strcmp(name, file) &&
            take_library(value, (size_t)(slash - value), slash + 1, path))
            return true;
    }
    return false;
}

static bool find_in_cache(const char *file, char *path)
{
    static const char magic[] = "glibc-ld.so.cache1.1";
    struct stat st;
    int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t size = fstat(fd, &st) ? 0 : (size_t)st.st_size;
    char *cache = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (cache == MAP_FAILED)
        return false;
    const char *head = memmem(cache, size, magic, sizeof magic - 1);
    bool found = head && find_in_entries(head, size - (size_t)(head - cache), file, path);
    munmap(cache, size);
    return found;
}

/* Looks into the folders that the dynamic linker says it searches. */
static bool find_in_usual(const char *file, char *path)
{
    Dl_serinfo size, *all = NULL;
    bool found = false;
    void *self = dlopen(NULL, RTLD_LAZY);
    if (self && !dlinfo(self, RTLD_DI_SERINFOSIZE, &size))
        all = calloc(1, size.dls_size);
    if (all) {
        all->dls_size = size.dls_size;
        all->dls_cnt = size.dls_cnt;
        if (!dlinfo(self, RTLD_DI_SERINFO, all))
            for (unsigned i = 0; i < all->dls_cnt && !found; i++)
                found = take_library(all->dls_serpath[i].dls_name,
                                     strlen(all->dls_serpath[i].dls_name), file, path);
    }
    free(all);
    if (self)
        dlclose(self);
    return found || find_in_list("/usr/local/lib:/usr/local/lib64", file, path);
}

static bool find_file(const char *file, char *path)
{
    const char *only = getenv(TP_LIBRARY_VARIABLE);
    if (only)
        return find_in_list(only, file, path);
    return find_in_list(getenv("LD_LIBRARY_PATH"), file, path) || find_in_cache(file, path) ||
           find_in_usual(file, path);
}

static const struct tp_library *known(const char *name)
{
    for (const struct tp_library *l = tp_libraries; l->name; l++)
        if (!strcasecmp(l->name, name))
            return l;
    return NULL;
}

static bool find_name(const char *name, char *path)
{
    char file[256];
    const struct tp_library *library = known(name);
    for (size_t i = 0; library && i < 6 && library->sonames[i]; i++)
        if (find_file(library->sonames[i], path))
            return true;
    snprintf(file, sizeof file, "lib%.200s.so", name);
    return !library && (find_file(name, path) || find_file(file, path));
}

/* Says that a name leads nowhere, with what to do. */
static int not_found(const char *name, struct tp_err *err)
{
    const char *names[32] = {NULL};
    const struct tp_library *library = known(name);
    for (size_t i = 0; tp_libraries[i].name && i < 31; i++)
        names[i] = tp_libraries[i].name;
    if (!strcasecmp(name, "glibc") || !strcasecmp(name, "libc"))
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "'%s' cannot be preloaded", name),
                       "'-s system' replays the C library's malloc");
    if (library)
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE,
                               "the malloc library '%s' is not on this machine: "
                               "%s was not found",
                               library->name, library->sonames[0]),
                       "lib:PATH names its file, as lib:./%s", library->sonames[0]);
    const char *near = tp_nearest(name, names);
    int status = tp_fail(err, TP_EUSAGE, "no malloc library '%s' was found", name);
    return near ? tp_hint(err, status, "did you mean '%s'?", near)
                : tp_hint(err, status,
                          "'tapool strategies' lists those of this machine; lib:PATH "
                          "names a file");
}

static int find_path(const char *given, char *path, struct tp_err *err)
{
    if (access(given, F_OK))
        return tp_hint_home(
            err, tp_fail(err, TP_EUSAGE, "library '%s': %s", given, strerror(errno)), given);
    int length = snprintf(path, TP_LIBRARY_PATH, "%s", given);
    return length < TP_LIBRARY_PATH
               ? TP_OK
               : tp_fail(err, TP_EUSAGE, "library '%.80s...': its path is too long", given);
}

int tp_library_find(const char *given, char *path, struct tp_err *err)
{
    int status = TP_OK;
    if (strchr(given, '/'))
        status = find_path(given, path, err);
    else if (!find_name(given, path))
        status = not_found(given, err);
    if (status || tp_opt_can_be_value(path))
        return status;
    return tp_hint(
        err, tp_fail(err, TP_EUSAGE, "library '%s': the braces in its path do not match", path),
        TP_OPT_BRACES);
}

size_t tp_libraries_here(const struct tp_library *out[TP_LIBRARIES_MAX])
{
    char paths[TP_LIBRARIES_MAX][TP_LIBRARY_PATH];
    size_t count = 0;
    for (const struct tp_library *l = tp_libraries; l->name && count < TP_LIBRARIES_MAX; l++) {
        bool again = !find_name(l->name, paths[count]);
        for (size_t i = 0; i < count && !again; i++)
            again = !strcmp(paths[i], paths[count]);
        if (!again)
            out[count++] = l;
    }
    return count;
}

const char *tp_library_version(const char *library)
{
    const char *blank = strchr(library, ' '), *so = strstr(library, ".so.");
    if (blank)
        return blank + 1;
    return so ? so + 4 : "";
}
