/* The program's own word, for whatever is recorded. */
#include "cmd/preload/mark.h"
#include "cmd/preload/recorder.h"

TP_HOOK void tapool_mark(const char *text)
{
    struct tp_call call;
    struct tp_writer *w = text ? tp_writer_enter(&call) : NULL;
    if (!w)
        return;
    tp_write_mark(w, text);
    tp_writer_leave(w, &call, NULL);
}
