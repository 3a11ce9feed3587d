/* tapool's own binary form: a program as it stands, played from the file. traces/README.md says
 * what is in it. */
#include "traces/formats/tpt/tpt_layout.h"
#include "traces/formats/tpt/tpt_read.h"

static int probe(const unsigned char *data, size_t size)
{
    return size >= TP_TPT_MAGIC_SIZE && memcmp(data, TP_TPT_MAGIC, TP_TPT_MAGIC_SIZE) == 0 ? 100
                                                                                           : 0;
}

static int open_trace(const struct tp_reading *r, struct tp_program **out, uint64_t *repairs,
                      struct tp_err *err)
{
    int fd = -1;
    int rc = tp_input_file(r->in, &fd, err);
    return rc ? rc : tp_tpt_open(fd, tp_input_name(r->in), r, repairs, out, err);
}

const struct tp_format tp_format_tpt = {
    .name = "tpt",
    .summary = "tapool's own, binary: small, checked, played in place",
    .record = "tapool convert FILE -o FILE.tpt",
    .own = true,
    .probe = probe,
    .open = open_trace,
};
