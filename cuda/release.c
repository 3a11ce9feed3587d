/* The release of the driver, and what is known to be wrong with old ones: see release.h.
 *
 *     /sys/module/nvidia/version     580.65.06
 *     /proc/driver/nvidia/version    NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.57.02 ...
 */
#include "cuda/release.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The length of a word of numbers with dots between them; 0: it is another kind of word. */
static size_t release_length(const char *word)
{
    size_t length = strcspn(word, " \t\r\n"), dots = 0;
    for (size_t i = 0; i < length; i++) {
        bool dot = word[i] == '.';
        if (!dot && !isdigit((unsigned char)word[i]))
            return 0;
        if (dot && (i == 0 || word[i - 1] == '.' || i + 1 == length))
            return 0;
        dots += dot;
    }
    return dots && length < TP_CUDA_RELEASE ? length : 0;
}

void tp_cuda_release_parse(const char *text, char out[TP_CUDA_RELEASE])
{
    out[0] = '\0';
    for (const char *word = text + strspn(text, " \t\r\n"); *word;) {
        size_t length = release_length(word);
        if (length) {
            memcpy(out, word, length);
            out[length] = '\0';
            return;
        }
        word += strcspn(word, " \t\r\n");
        word += strspn(word, " \t\r\n");
    }
}

void tp_cuda_release_read(char out[TP_CUDA_RELEASE])
{
    static const char *const paths[] = {"/sys/module/nvidia/version",
                                        "/proc/driver/nvidia/version"};
    out[0] = '\0';
    for (size_t i = 0; i < sizeof paths / sizeof *paths && !out[0]; i++) {
        char line[256];
        FILE *f = fopen(paths[i], "re");
        if (f && fgets(line, sizeof line, f))
            tp_cuda_release_parse(line, out);
        if (f)
            fclose(f);
    }
}

/* Such a driver allocates a block while the stream that freed it is still at work. Libraries turn
 * the option off for the same reason: DALI below 470.60, RMM below CUDA 11.5. */
int tp_cuda_release_check_reuse(const char *release, struct tp_err *err)
{
    enum { FIRST_GOOD = 470, FIRST_GOOD_MINOR = 60 };
    char *end;
    unsigned long major = strtoul(release, &end, 10);
    unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    if (!release[0] || major > FIRST_GOOD || (major == FIRST_GOOD && minor >= FIRST_GOOD_MINOR))
        return TP_OK;
    int rc = tp_fail(err, TP_EDEVICE,
                     "the pools of driver %s corrupt memory with 'reuse_allow_opportunistic'; "
                     "%d.%d is the first that does not",
                     release, FIRST_GOOD, FIRST_GOOD_MINOR);
    return tp_hint(err, rc, "-s cudaMallocAsync:reuse_allow_opportunistic=no, or a newer driver");
}
