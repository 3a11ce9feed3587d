#include "alloc/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void format_text(char *out, const char *format, va_list args)
{
    int n = vsnprintf(out, TP_ERR_TEXT, format, args);
    if (n < 0)
        out[0] = '\0';
    else if (n >= TP_ERR_TEXT)
        memcpy(out + TP_ERR_TEXT - 4, "...", 4);
}

int tp_fail(struct tp_err *err, enum tp_status status, const char *format, ...)
{
    if (!err)
        return (int)status;
    va_list args;
    va_start(args, format);
    format_text(err->text, format, args);
    va_end(args);
    err->status = status;
    err->reason = TP_REASON_OTHER;
    err->hint[0] = '\0';
    return (int)status;
}

int tp_hint(struct tp_err *err, int status, const char *format, ...)
{
    if (!err)
        return status;
    va_list args;
    va_start(args, format);
    format_text(err->hint, format, args);
    va_end(args);
    return (int)err->status;
}

int tp_because(struct tp_err *err, int status, enum tp_reason reason)
{
    if (err)
        err->reason = reason;
    return status;
}

int tp_prefix(struct tp_err *err, int status, const char *format, ...)
{
    if (!err)
        return status;
    char old[TP_ERR_TEXT];
    memcpy(old, err->text, sizeof old);
    va_list args;
    va_start(args, format);
    format_text(err->text, format, args);
    va_end(args);
    size_t used = strlen(err->text);
    int n = snprintf(err->text + used, TP_ERR_TEXT - used, ": %s", old);
    if (n >= 0 && (size_t)n >= TP_ERR_TEXT - used)
        memcpy(err->text + TP_ERR_TEXT - 4, "...", 4);
    return (int)err->status;
}

int tp_fail_write(struct tp_err *err, const char *name)
{
    return tp_fail(err, TP_EIO, "%s could not be written: %s", name,
                   errno ? strerror(errno) : "an earlier write failed");
}

const char *tp_status_text(int status)
{
    static const char *const text[TP_STATUS_COUNT] = {
        [TP_OK] = "no error",
        [TP_EOOM] = "out of memory",
        [TP_EINVAL] = "wrong argument",
        [TP_EUNSUP] = "not supported",
        [TP_ENOMEM] = "tapool itself ran out of memory",
        [TP_EUSAGE] = "wrong command line",
        [TP_EINPUT] = "unusable input",
        [TP_EIO] = "input or output failed",
        [TP_EDEVICE] = "device missing or lost",
        [TP_EBROKEN] = "an invariant is broken",
        [TP_ELATE] = "not done in time",
        [TP_ESTOP] = "enough",
        [TP_EFOUND] = "found",
        [TP_EUNSURE] = "undecided",
    };
    return status >= 0 && status < TP_STATUS_COUNT ? text[status] : "unknown status";
}
