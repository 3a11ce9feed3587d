/* See finish.h. A program takes a preloaded library if the loader starts it (it names one: it is
 * not static), if it is of this machine, and if it gives its user no rights that he lacks. */
#include "cmd/record/finish.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { SCRIPTS_MAX = 4, LINE_MAX_BYTES = 256 };

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Looks through PATH. false: there is none; errno is EACCES if there is one that may not be run. */
static bool find_program(const char *name, char out[PATH_MAX])
{
    const char *folders = getenv("PATH");
    bool denied = false;
    if (strchr(name, '/')) {
        bool fits = (size_t)snprintf(out, PATH_MAX, "%s", name) < PATH_MAX;
        bool there = fits && access(name, F_OK) == 0;
        errno = there ? EACCES : ENOENT;
        return there && is_program(name);
    }
    for (const char *at = folders ? folders : "/bin:/usr/bin"; at;) {
        size_t length = strcspn(at, ":");
        bool fits = (size_t)snprintf(out, PATH_MAX, "%.*s/%s", length ? (int)length : 1,
                                     length ? at : ".", name) < PATH_MAX;
        if (fits && is_program(out))
            return true;
        denied |= fits && access(out, F_OK) == 0;
        at = at[length] ? at + length + 1 : NULL;
    }
    errno = denied ? EACCES : ENOENT;
    return false;
}

/* ---- what is in the file ---- */

static int refuse(const char *path, const char *why, struct tp_err *err)
{
    return tp_fail(err, TP_EINPUT, "'%s' cannot be recorded: %s", path, why);
}

static bool read_exactly(int fd, off_t at, void *out, size_t size)
{
    return pread(fd, out, size, at) == (ssize_t)size;
}

/* The loader that starts it, as a path; "": none does, as static programs name none. */
static void loader_of(int fd, const Elf64_Ehdr *h, char out[LINE_MAX_BYTES])
{
    memset(out, 0, LINE_MAX_BYTES);
    for (unsigned i = 0; i < h->e_phnum; i++) {
        Elf64_Phdr p;
        if (!read_exactly(fd, (off_t)(h->e_phoff + (uint64_t)i * sizeof p), &p, sizeof p)) {
            snprintf(out, LINE_MAX_BYTES, "?"); /* the kernel will say what is wrong with it */
            return;
        }
        size_t length = p.p_filesz < LINE_MAX_BYTES - 1 ? p.p_filesz : LINE_MAX_BYTES - 1;
        if (p.p_type == PT_INTERP && read_exactly(fd, (off_t)p.p_offset, out, length))
            return;
    }
}

/* Where the file has what is at an address of the program; 0: nowhere. */
static uint64_t file_offset(int fd, const Elf64_Ehdr *h, uint64_t address)
{
    Elf64_Phdr p;
    for (unsigned i = 0; i < h->e_phnum; i++)
        if (read_exactly(fd, (off_t)(h->e_phoff + (uint64_t)i * sizeof p), &p, sizeof p) &&
            p.p_type == PT_LOAD && address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz)
            return p.p_offset + (address - p.p_vaddr);
    return 0;
}

/* The names that the loader reads, each between two zeros; NULL: there are none. To be freed. */
static char *names_of(int fd, const Elf64_Ehdr *h, size_t *bytes)
{
    enum { BYTES_MAX = 1 << 26 };
    Elf64_Phdr p = {.p_type = PT_NULL};
    Elf64_Dyn d = {.d_tag = DT_DEBUG};
    uint64_t at = 0;
    *bytes = 0;
    for (unsigned i = 0; i < h->e_phnum && p.p_type != PT_DYNAMIC; i++)
        if (!read_exactly(fd, (off_t)(h->e_phoff + (uint64_t)i * sizeof p), &p, sizeof p))
            return NULL;
    for (uint64_t i = 0; p.p_type == PT_DYNAMIC && i < p.p_filesz / sizeof d; i++) {
        if (d.d_tag == DT_NULL ||
            !read_exactly(fd, (off_t)(p.p_offset + i * sizeof d), &d, sizeof d))
            break;
        at = d.d_tag == DT_STRTAB ? file_offset(fd, h, d.d_un.d_ptr) : at;
        *bytes = d.d_tag == DT_STRSZ ? d.d_un.d_val : *bytes;
    }
    char *names = at && *bytes && *bytes <= BYTES_MAX ? malloc(*bytes) : NULL;
    if (names && read_exactly(fd, (off_t)at, names, *bytes))
        return names;
    free(names);
    return NULL;
}

/* The malloc of these must be the first that the loader finds, or is part of the program. */
static int check_sanitizer(int fd, const Elf64_Ehdr *h, const char *path, struct tp_err *err)
{
    static const struct {
        const char *begins, *name;
    } sanitizers[] = {{"\0__asan_init", "AddressSanitizer"},
                      {"\0__hwasan_init", "HWAddressSanitizer"},
                      {"\0__msan_init", "MemorySanitizer"},
                      {"\0__tsan_init", "ThreadSanitizer"}};
    size_t bytes = 0;
    char *names = names_of(fd, h, &bytes);
    int status = TP_OK;
    for (size_t i = 0; names && !status && i < sizeof sanitizers / sizeof *sanitizers; i++)
        if (memmem(names, bytes, sanitizers[i].begins, strlen(sanitizers[i].begins + 1) + 2))
            status = tp_hint(err,
                             tp_fail(err, TP_EINPUT,
                                     "'%s' cannot be recorded: it is built with %s, which has "
                                     "its own malloc",
                                     path, sanitizers[i].name),
                             "build it without the sanitizer");
    free(names);
    return status;
}

static int check_elf(int fd, const char *path, struct tp_err *err)
{
    Elf64_Ehdr h, own;
    char loader[LINE_MAX_BYTES];
    int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    bool known = self >= 0 && read_exactly(self, 0, &own, sizeof own);
    if (self >= 0)
        close(self);
    if (!read_exactly(fd, 0, &h, sizeof h) || !known)
        return TP_OK;
    if (h.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] || h.e_machine != own.e_machine)
        return refuse(path, "it is built for another architecture", err);
    loader_of(fd, &h, loader);
    if (!loader[0])
        return refuse(path, "it is statically linked, so no library can be preloaded", err);
    if (strstr(loader, "/ld-musl"))
        return refuse(path, "its C library is musl, and the recorder's is glibc", err);
    return check_sanitizer(fd, &h, path, err);
}

/* Programs with rights of their own start without preloaded libraries, unless it is the user who
 * has these rights. */
static int check_rights(int fd, const char *path, struct tp_err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return TP_OK;
    bool other = ((st.st_mode & S_ISUID) && st.st_uid != geteuid()) ||
                 ((st.st_mode & S_ISGID) && st.st_gid != getegid()) ||
                 (geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0);
    return other ? refuse(path, "it is setuid, setgid or has capabilities", err) : TP_OK;
}

/* The interpreter of a script: the shell where it names none. */
static void interpreter_of(int fd, char out[LINE_MAX_BYTES])
{
    char line[LINE_MAX_BYTES] = {0};
    snprintf(out, LINE_MAX_BYTES, "/bin/sh");
    if (pread(fd, line, sizeof line - 1, 0) < 3 || line[0] != '#' || line[1] != '!')
        return;
    const char *name = line + 2 + strspn(line + 2, " \t");
    snprintf(out, LINE_MAX_BYTES, "%.*s", (int)strcspn(name, " \t\r\n"), name);
}

static int check_file(const char *path, char next[LINE_MAX_BYTES], struct tp_err *err)
{
    char magic[SELFMAG] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC), status = TP_OK;
    next[0] = '\0';
    if (fd < 0)
        return TP_OK; /* it may be run and not read */
    if (read_exactly(fd, 0, magic, sizeof magic) && !memcmp(magic, ELFMAG, sizeof magic)) {
        status = check_elf(fd, path, err);
        if (!status)
            status = check_rights(fd, path, err);
    } else
        interpreter_of(fd, next);
    close(fd);
    return status;
}

int tp_record_target(const char *name, char path[PATH_MAX], int *code, struct tp_err *err)
{
    char next[LINE_MAX_BYTES], file[PATH_MAX];
    if (!find_program(name, path)) {
        bool missing = errno == ENOENT;
        *code = missing ? TP_EXIT_NOT_FOUND : TP_EXIT_CANNOT_RUN;
        return tp_fail(err, TP_EUSAGE, "'%s' %s", name,
                       missing ? "was not found" : "is not an executable program");
    }
    *code = 0;
    snprintf(file, sizeof file, "%s", path);
    for (int i = 0; i < SCRIPTS_MAX; i++) {
        int status = check_file(file, next, err);
        if (status || !next[0])
            return status;
        snprintf(file, sizeof file, "%s", next);
    }
    return TP_OK;
}
