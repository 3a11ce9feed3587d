/* Exit codes; see exit.h. */
#include "cmd/ui/exit.h"

#include "alloc/base/clean.h"

#include <stdio.h>
#include <stdlib.h>

const struct tp_fact tp_exit_codes[] = {
    {"0", "done"},
    {"1", "a regression, or a condition of --fail-on is met"},
    {"2", "wrong command line or configuration"},
    {"3", "unusable input"},
    {"4", "the replay failed, a device is missing or lost, or output could not be written"},
    {"5", "inconclusive (check --inconclusive=fail)"},
    {"128+n", "ended by signal n"},
    {NULL, NULL}};

int tp_exit_code(int status)
{
    switch (status) {
    case TP_OK:
        return TP_EXIT_OK;
    case TP_EUSAGE:
        return TP_EXIT_USAGE;
    case TP_EINPUT:
        return TP_EXIT_INPUT;
    case TP_EFOUND:
        return TP_EXIT_FOUND;
    case TP_EUNSURE:
        return TP_EXIT_INCONCLUSIVE;
    default:
        return TP_EXIT_FAILED;
    }
}

/* Control characters are removed, because a message may quote a file or an argument. */
void tp_error_print(const struct tp_err *err)
{
    char text[TP_ERR_TEXT];
    tp_clean_text(err->text, text, sizeof text);
    fprintf(stderr, "tapool: %s\n", text);
    tp_clean_text(err->hint, text, sizeof text);
    if (*text)
        fprintf(stderr, "hint: %s\n", text);
    if (err->reason && getenv(TP_REASONS_VARIABLE))
        fprintf(stderr, "reason: %s\n", tp_reason_words[err->reason]);
}
