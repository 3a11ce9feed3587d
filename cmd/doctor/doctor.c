/* Collects the checks of `tapool doctor`; see doctor.h. */
#include "cmd/doctor/doctor.h"

#include "alloc/base/clean.h"
#include "alloc/base/str.h"

#include <assert.h>
#include <stdarg.h>

const char *const tp_verdict_names[] = {"ok", "warning", "missing"};

/* Formats a text and removes control characters, because it may contain names of files. */
__attribute__((format(printf, 3, 0))) static void put(char *out, size_t size, const char *format,
                                                      va_list args)
{
    struct tp_str text = {0};
    tp_str_vadd(&text, format, args);
    tp_clean_text(tp_str_text(&text), out, size);
    tp_str_drop(&text);
}

struct tp_doctor_check *tp_doctor_add(struct tp_doctor *d, const char *name,
                                      enum tp_doctor_verdict verdict, const char *advice,
                                      const char *format, ...)
{
    va_list args;
    assert(d->count < TP_CHECKS_MAX);
    struct tp_doctor_check *c = &d->checks[d->count++];
    c->name = name;
    c->verdict = verdict;
    snprintf(c->advice, sizeof c->advice, "%s", verdict != TP_VERDICT_OK && advice ? advice : "");
    va_start(args, format);
    put(c->value, sizeof c->value, format, args);
    va_end(args);
    return c;
}

void tp_doctor_advise(struct tp_doctor_check *check, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put(check->advice, sizeof check->advice, format, args);
    va_end(args);
}

bool tp_doctor_line(const struct tp_doctor *d, const char *path, const char *key, char *out,
                    size_t size)
{
    char full[4096];
    int n = snprintf(full, sizeof full, "%s%s", d->root, path);
    out[0] = '\0';
    return n > 0 && (size_t)n < sizeof full && tp_machine_line(full, key, out, size);
}

void tp_doctor_release(struct tp_doctor *d)
{
    tp_gpu_close(&d->gpu);
}
