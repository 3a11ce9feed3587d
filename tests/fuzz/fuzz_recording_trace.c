/* Fuzz target of recordings. Behind the recording there may be a file with code, from the first
 * bytes that begin as ELF does: it is what the path /proc/self/fd/900 leads to, for stacks of the
 * recording. Files are read in a fork, so what goes wrong there is no finding; what comes from
 * there may be. */
#include "tests/fuzz/fuzz_format.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern const struct tp_format tp_format_recording;

enum { CODE_FD = 900 };

#define MOST (UINT64_C(4) << 20)

static void put_code(const uint8_t *data, size_t size)
{
    int fd = memfd_create("code", 0);
    must(fd >= 0 && write(fd, data, size) == (ssize_t)size && dup2(fd, CODE_FD) == CODE_FD);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct tp_read_opts opts = {.device = -1, .max_memory = MOST};
    const uint8_t *code = size ? memmem(data, size, ELFMAG, SELFMAG) : NULL;
    size_t recording = code ? (size_t)(code - data) : size;
    if (code)
        put_code(code, size - recording);
    for (int strict = 0; strict < 2; strict++)
        fuzz_format_with(&tp_format_recording, strict, &opts, data, recording);
    if (code)
        close(CODE_FD);
    return 0;
}
