/* Environment variables; see environment.h. */
#include "cmd/ui/environment.h"

#include "alloc/base/malloc_variables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

const struct tp_fact tp_environment[] = {
    {"TMPDIR", "folder for programs above 32 MiB during a replay"},
    {"TAPOOL_SAMPLES", "folder of sample:NAME"},
    {"TAPOOL_CUDA_DRIVER", "library in place of libcuda.so.1"},
    {TP_LIBRARY_VARIABLE, "folders of lib:NAME, separated by colons; empty: none"},
    {"TAPOOL_VALGRIND", "valgrind that counts instructions; empty: none"},
    {TP_CONFIG_VARIABLE, "file in place of " TP_CONFIG_NAME "; empty: none"},
    {"TAPOOL_OPTION", "value of --option (tapool help config)"},
    {"NO_COLOR", "no color"},
    {NULL, NULL}};

const char *const tp_reason_words[TP_REASON_COUNT] = {
    [TP_REASON_UNKNOWN] = "unknown", [TP_REASON_ABSENT] = "absent", [TP_REASON_EMPTY] = "empty"};

bool tp_environment_names(const char *name, size_t length)
{
    for (const struct tp_fact *f = tp_environment; f->name; f++)
        if (strlen(f->name) == length && !strncmp(f->name, name, length))
            return true;
    return false;
}

/* Whether a child process gets the variable. Of the variables TAPOOL_... it gets those of
 * tp_environment except TAPOOL_CONFIG, and those of the simulated driver of the tests. The
 * variables _TAPOOL_... come from a tapool that measures this one. */
static bool is_kept(const char *variable)
{
    static const char config[] = TP_CONFIG_VARIABLE "=", simulated[] = "TAPOOL_FAKE_CUDA";
    if (strncmp(variable, "TAPOOL_", 7) != 0)
        return strncmp(variable, "_TAPOOL_", 8) != 0;
    if (!strncmp(variable, config, sizeof config - 1))
        return false;
    return !strncmp(variable, simulated, sizeof simulated - 1) ||
           tp_environment_names(variable, strcspn(variable, "="));
}

static bool is_among(const char *variable, char *const *list, size_t count)
{
    size_t name = strcspn(variable, "=") + 1;
    for (size_t i = 0; i < count; i++)
        if (!strncmp(variable, list[i], name))
            return true;
    return false;
}

char **tp_environment_for_child(char *const *extra, size_t extra_count)
{
    static char no_file[] = TP_CONFIG_VARIABLE "=", reasons[] = TP_REASONS_VARIABLE "=1";
    size_t count = 0;
    while (environ && environ[count])
        count++;
    char **out = calloc(count + extra_count + 3, sizeof *out), **next = out;
    if (!out)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (is_kept(environ[i]) && !is_among(environ[i], extra, extra_count))
            *next++ = environ[i];
    *next++ = no_file;
    *next++ = reasons;
    for (size_t i = 0; i < extra_count; i++)
        *next++ = extra[i];
    return out;
}

void tp_environment_forget_mallocs(void)
{
    char name[256];
    unsetenv("LD_PRELOAD");
    for (char **e = environ; e && *e;)
        if (tp_is_malloc_variable(*e) && strchr(*e, '=') &&
            snprintf(name, sizeof name, "%.*s", (int)strcspn(*e, "="), *e) < (int)sizeof name &&
            !unsetenv(name))
            e = environ;
        else
            e++;
}
