/* What is made of a recording when its program has ended. */
#ifndef TP_RECORD_FINISH_H
#define TP_RECORD_FINISH_H

#include "cmd/record/session.h"

/* Makes the traces of the program and of the children that were followed, removes their recordings,
 * and says on stderr what they hold. A recording that cannot be made a trace stays. TP_EINPUT: of
 * the program nothing was recorded. `force`: files are overwritten. */
int tp_record_finish(const struct tp_record_cfg *cfg, const struct tp_record_session *s, bool force,
                     struct tp_err *err);

#endif
