/* See place_text.h. */
#include "traces/lower/place_text.h"

#include <inttypes.h>
#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "";
}

void tp_place_text(const struct tp_place_parts *p, struct tp_str *out)
{
    const char *function = p->function ? p->function : "", *file = base_name(p->file);
    const char *module = base_name(p->module);
    if (*file)
        tp_str_add(out, "%s:%u %s", file, p->line, function);
    else if (!*function && p->offset)
        tp_str_add(out, "%s+0x%" PRIx64, module, p->offset);
    else
        tp_str_add(out, "%s%s%s%s", function, *function ? " (" : "", module, *function ? ")" : "");
}

static bool is_one_of(const char *function, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(function, names[i]))
            return true;
    return false;
}

enum tp_place_role tp_place_role(const char *function)
{
    static const char *const begins[] = {
        "operator new", "std::", "__gnu_cxx::", "void* std::", "_Znw", "_Zna", "_ZNSt", "_ZSt"};
    static const char *const names[] = {
        "malloc",    "calloc",       "realloc",        "reallocarray", "aligned_alloc",
        "memalign",  "valloc",       "posix_memalign", "strdup",       "strndup",
        "__strdup",  "__strndup",    "xmalloc",        "xcalloc",      "xrealloc",
        "xzalloc",   "xstrdup",      "xstrndup",       "g_malloc",     "g_malloc0",
        "g_realloc", "g_malloc_n",   "g_malloc0_n",    "g_realloc_n",  "g_strdup",
        "g_strndup", "g_slice_alloc"};
    static const char *const starts[] = {"_start",
                                         "__libc_start_main",
                                         "__libc_start_main_impl",
                                         "__libc_start_call_main",
                                         "start_thread",
                                         "clone",
                                         "clone3",
                                         "__clone",
                                         "__clone3",
                                         "execute_native_thread_routine"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (!strncmp(function, begins[i], strlen(begins[i])))
            return TP_PLACE_PASSES_ON;
    if (is_one_of(function, names, sizeof names / sizeof *names))
        return TP_PLACE_PASSES_ON;
    return is_one_of(function, starts, sizeof starts / sizeof *starts) ? TP_PLACE_STARTS
                                                                       : TP_PLACE_ASKS;
}
