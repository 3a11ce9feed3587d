/* See place_text.h. */
#include "traces/places/place_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *base_name(const char *path)
{
    if (!path)
        return "";
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
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

/* ---- taken apart ---- */

/* "FILE:LINE FUNCTION", the function may be missing. False: that is no such text. */
static bool split_line(const char *text, struct tp_place_split *out)
{
    enum { DIGITS = 9 }; /* of a line, so that it fits */
    for (const char *colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':')) {
        size_t digits = strspn(colon + 1, "0123456789");
        const char *rest = colon + 1 + digits;
        if (colon == text || !digits || digits > DIGITS || (*rest && *rest != ' '))
            continue;
        rest += *rest == ' ';
        *out = (struct tp_place_split){.file = text,
                                       .file_bytes = (size_t)(colon - text),
                                       .line = (uint32_t)strtoul(colon + 1, NULL, 10),
                                       .function = rest,
                                       .function_bytes = strlen(rest)};
        return true;
    }
    return false;
}

/* "FUNCTION (MODULE)": the last bracket, as a function may have one of its own. */
static bool split_module(const char *text, struct tp_place_split *out)
{
    const char *open = NULL;
    for (const char *at = strstr(text, " ("); at; at = strstr(at + 1, " ("))
        open = at;
    if (!open || open == text)
        return false;
    const char *end = open + strlen(open) - 1;
    if (*end != ')' || end - open < 3)
        return false;
    *out = (struct tp_place_split){.file = open + 2,
                                   .file_bytes = (size_t)(end - open - 2),
                                   .function = text,
                                   .function_bytes = (size_t)(open - text)};
    return true;
}

/* "MODULE+0xOFFSET", of which the offset stands for the function. */
static bool split_offset(const char *text, struct tp_place_split *out)
{
    const char *plus = strrchr(text, '+');
    if (!plus || plus == text || strncmp(plus, "+0x", 3) != 0 ||
        plus[3 + strspn(plus + 3, "0123456789abcdef")] || !plus[3])
        return false;
    *out = (struct tp_place_split){.file = text,
                                   .file_bytes = (size_t)(plus - text),
                                   .function = plus,
                                   .function_bytes = strlen(plus)};
    return true;
}

struct tp_place_split tp_place_split(const char *text)
{
    struct tp_place_split out = {.function = text, .function_bytes = strlen(text)};
    if (!split_line(text, &out) && !split_module(text, &out))
        split_offset(text, &out);
    return out;
}

/* ---- shapes ---- */

/* The bytes of "[32,128]", and of the space before it where no type stands there; 0: no shape. */
static size_t shape_at(const char *text)
{
    size_t space = *text == ' ',
           inside = text[space] == '[' ? strspn(text + space + 1, "0123456789,?") : 0;
    return inside && text[space + 1 + inside] == ']' ? space + inside + 2 : 0;
}

void tp_place_without_shapes(const char *text, struct tp_str *out)
{
    while (*text) {
        const size_t shape = shape_at(text), plain = shape ? 0 : 1 + strcspn(text + 1, " [");
        tp_str_add(out, "%.*s", (int)plain, text);
        text += shape + plain;
    }
}

/* ---- roles ---- */

/* Functions that libraries and languages have around malloc, and hand out what their caller asks
 * for; in the order of strcmp. */
/* clang-format off */
static const char *const passes_on[] = {
    "AllocSetAlloc", "AllocSetAllocFromNewBlock", "AllocSetAllocLarge", "AllocSetRealloc",
    "CRYPTO_aligned_alloc", "CRYPTO_calloc", "CRYPTO_clear_realloc", "CRYPTO_malloc",
    "CRYPTO_malloc_array", "CRYPTO_memdup", "CRYPTO_realloc", "CRYPTO_realloc_array",
    "CRYPTO_strdup", "CRYPTO_strndup", "CRYPTO_zalloc", "MemoryContextAlloc",
    "MemoryContextAllocExtended", "MemoryContextAllocZero", "MemoryContextStrdup",
    "OPENSSL_calloc", "OPENSSL_malloc", "OPENSSL_memdup", "OPENSSL_realloc", "OPENSSL_zalloc",
    "Perl_calloc", "Perl_malloc", "Perl_realloc", "Perl_safesyscalloc", "Perl_safesysmalloc",
    "Perl_safesysrealloc", "PyMem_Calloc", "PyMem_Malloc", "PyMem_RawCalloc", "PyMem_RawMalloc",
    "PyMem_RawRealloc", "PyMem_Realloc", "PyObject_Calloc", "PyObject_Malloc", "PyObject_Realloc",
    "PyType_GenericAlloc", "_PyMem_DebugCalloc", "_PyMem_DebugMalloc", "_PyMem_DebugRawAlloc",
    "_PyMem_DebugRawCalloc", "_PyMem_DebugRawMalloc", "_PyMem_DebugRawRealloc",
    "_PyMem_DebugRealloc", "_PyMem_RawCalloc", "_PyMem_RawMalloc", "_PyMem_RawRealloc",
    "_PyMem_RawStrdup", "_PyMem_RawWcsdup", "_PyMem_Strdup", "_PyObject_Calloc",
    "_PyObject_GC_Malloc", "_PyObject_GC_New", "_PyObject_GC_NewVar", "_PyObject_Malloc",
    "_PyObject_New", "_PyObject_NewVar", "_PyObject_Realloc", "_PyType_AllocNoTrack",
    "__libc_calloc", "__libc_malloc", "__libc_memalign", "__libc_realloc", "__rdl_alloc",
    "__rdl_alloc_zeroed", "__rdl_realloc", "__rust_alloc", "__rust_alloc_zeroed",
    "__rust_realloc", "__strdup", "__strndup", "__talloc", "__talloc_with_prefix", "_talloc",
    "_talloc_array", "_talloc_memdup", "_talloc_realloc", "_talloc_realloc_array", "_talloc_zero",
    "_talloc_zero_array", "aligned_alloc", "allocator_alloc", "apr_allocator_alloc", "apr_palloc",
    "apr_pcalloc", "apr_pmemdup", "apr_pstrdup", "apr_pstrndup", "av_calloc", "av_fast_malloc",
    "av_fast_mallocz", "av_fast_realloc", "av_malloc", "av_malloc_array", "av_mallocz",
    "av_mallocz_array", "av_memdup", "av_realloc", "av_realloc_array", "av_realloc_f",
    "av_reallocp", "av_reallocp_array", "av_strdup", "av_strndup", "calloc", "dbMallocRawFinish",
    "dbReallocFinish", "g_malloc", "g_malloc0", "g_malloc0_n", "g_malloc_n", "g_memdup",
    "g_memdup2", "g_realloc", "g_realloc_n", "g_slice_alloc", "g_slice_alloc0", "g_strdup",
    "g_strndup", "g_try_malloc", "g_try_malloc0", "g_try_realloc", "hi_calloc", "hi_malloc",
    "hi_realloc", "hi_strdup", "je_aligned_alloc", "je_calloc", "je_malloc", "je_mallocx",
    "je_memalign", "je_posix_memalign", "je_rallocx", "je_realloc", "je_valloc", "l_alloc",
    "luaM_malloc_", "luaM_realloc_", "luaM_saferealloc_", "malloc", "mallocWithAlarm", "memalign",
    "ngx_alloc", "ngx_calloc", "ngx_memalign", "ngx_palloc", "ngx_palloc_block",
    "ngx_palloc_large", "ngx_palloc_small", "ngx_pcalloc", "ngx_pmemalign", "ngx_pnalloc",
    "palloc", "palloc0", "palloc_extended", "pcache1Alloc", "pg_malloc", "pg_malloc0",
    "pg_realloc", "pg_strdup", "pnstrdup", "posix_memalign", "pstrdup", "pvalloc", "realloc",
    "reallocarray", "repalloc", "sh_xmalloc", "sh_xrealloc", "sqlite3DbMallocRaw",
    "sqlite3DbMallocRawNN", "sqlite3DbMallocZero", "sqlite3DbRealloc", "sqlite3DbReallocOrFree",
    "sqlite3DbStrDup", "sqlite3DbStrNDup", "sqlite3Malloc", "sqlite3MallocZero",
    "sqlite3MemMalloc", "sqlite3MemRealloc", "sqlite3PageMalloc", "sqlite3Realloc",
    "sqlite3_malloc", "sqlite3_malloc64", "sqlite3_realloc", "sqlite3_realloc64", "strdup",
    "strndup", "talloc_named_const", "talloc_strdup", "talloc_strndup", "valkey_calloc",
    "valkey_malloc", "valkey_realloc", "valloc", "wcsdup", "x2nrealloc", "x2realloc", "xcalloc",
    "xmalloc", "xmallocz", "xmemdup", "xmemdupz", "xmlStrdup", "xmlStrndup", "xnmalloc",
    "xnrealloc", "xrealloc", "xreallocarray", "xstrdup", "xstrndup", "xzalloc", "zcalloc",
    "zcalloc_num", "zcalloc_usable", "zmalloc", "zmalloc_no_tcache", "zmalloc_usable", "zrealloc",
    "zrealloc_usable", "zstrdup", "ztrycalloc", "ztrycalloc_usable", "ztrycalloc_usable_internal",
    "ztrymalloc", "ztrymalloc_usable", "ztrymalloc_usable_internal", "ztryrealloc",
    "ztryrealloc_usable", "ztryrealloc_usable_internal",
};
/* clang-format on */

static int compare_name(const void *function, const void *name)
{
    return strcmp(function, *(const char *const *)name);
}

/* Compilers name the parts of a function malloc.part.0, and linkers a version of it malloc@V1. */
static bool passes_what_is_asked(const char *function)
{
    char plain[48];
    size_t length = strcspn(function, ".@");
    if (length >= sizeof plain)
        return false;
    memcpy(plain, function, length);
    plain[length] = '\0';
    return bsearch(plain, passes_on, sizeof passes_on / sizeof *passes_on, sizeof *passes_on,
                   compare_name) != NULL;
}

enum tp_place_role tp_place_role(const char *function)
{
    static const char *const begins[] = {
        "operator new", "std::", "__gnu_cxx::", "void* std::", "_Znw", "_Zna", "_ZNSt", "_ZSt"};
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
    if (passes_what_is_asked(function))
        return TP_PLACE_PASSES_ON;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (!strcmp(function, starts[i]))
            return TP_PLACE_STARTS;
    return TP_PLACE_ASKS;
}
