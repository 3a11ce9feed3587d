/* See replay_answer.h. */
#include "cmd/measure/replay_answer.h"

#include "alloc/base/numbers.h"
#include "cmd/ui/text.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

/* Where the replay was when it was looked at for the last time. */
static struct tp_text place_of(const struct tp_replay_answer *a)
{
    uint64_t first = a->position.first, last = a->position.last;
    if (last == TP_NONE)
        return tp_text_of("after the last event");
    if (!last)
        return tp_text_of("before its first event");
    return first == last ? tp_text_of("at event %s", tp_count(first).s)
                         : tp_text_of("between events %s and %s", tp_count(first ? first : 1).s,
                                      tp_count(last).s);
}

int tp_replay_answer_judge(const struct tp_replay_answer *a, int waited, int how,
                           uint64_t timeout_ns, const char *label, struct tp_err *err)
{
    if (waited == TP_ESTOP)
        return tp_fail(err, TP_ESTOP, "interrupted");
    if (waited == TP_ELATE)
        return tp_hint(err,
                       tp_fail(err, TP_ELATE, "'%s' had not ended after %s: it was %s", label,
                               tp_duration(timeout_ns).s, place_of(a).s),
                       "was it stuck? --timeout TIME gives it longer, --timeout none for ever");
    if (waited)
        return tp_fail(err, (enum tp_status)waited, "a child process is lost: %s", strerror(errno));
    if (WIFSIGNALED(how))
        return tp_fail(err, TP_EBROKEN, "'%s' died of signal %d (%s) in its process, %s", label,
                       WTERMSIG(how), strsignal(WTERMSIG(how)), place_of(a).s);
    if (!a->given)
        return tp_fail(err, TP_EBROKEN, "'%s' ended its process with code %d, %s", label,
                       WEXITSTATUS(how), place_of(a).s);
    if (a->status && err) {
        *err = a->err;
        err->text[sizeof err->text - 1] = err->hint[sizeof err->hint - 1] = '\0';
    }
    return a->status;
}
