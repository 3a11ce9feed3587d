/* See certifier.h. */
#include "cmd/verify/certifier.h"

#include "cmd/cli/config.h"
#include "cmd/ui/stop.h"
#include "cmd/verify/verified.h"

#include <string.h>

/* ---- the table ---- */

static bool is_listed(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

int tp_certifier_refuses(const struct tp_certifier *by, const struct tp_args *args,
                         const struct tp_opt *rows, struct tp_err *err)
{
    for (const struct tp_certifier *const *other = tp_certifiers; *other; other++)
        for (const char *const *name = (*other)->options; *name; name++)
            if (!is_listed(by->options, *name) && tp_config_typed(args, rows, *name))
                return tp_fail(err, TP_EUSAGE, "--%s takes a recording of %s", *name, (*other)->by);
    return TP_OK;
}

/* Whose file it is by its first bytes. Where they cannot be read, who reads it says why. */
static const struct tp_certifier *certifier_of(struct tp_input *in)
{
    const struct tp_certifier *best = tp_certifiers[0];
    const unsigned char *data = NULL;
    struct tp_err ignored = {0};
    size_t size = 0;
    int most = 0;
    if (tp_input_peek(in, TP_PROBE_BYTES, &data, &size, &ignored) != TP_OK)
        return best;
    for (size_t i = 0; tp_certifiers[i]; i++) {
        int score = tp_certifiers[i]->format->probe(data, size);
        if (score > most)
            best = tp_certifiers[i];
        most = score > most ? score : most;
    }
    return best;
}

/* ---- a file ---- */

int tp_recorded_open(struct tp_recorded_file *f, const char *path, uint64_t max_memory,
                     struct tp_err *err)
{
    *f = (struct tp_recorded_file){
        .opts = {.device = -1, .max_memory = max_memory, .stop = tp_stop_asked},
        .budget = {.limit = max_memory}};
    f->reading = (struct tp_reading){.opts = &f->opts, .budget = &f->budget};
    int rc = tp_input_open(path, max_memory, tp_stop_asked, &f->reading.in, err);
    if (rc != TP_OK)
        return rc;
    f->by = certifier_of(f->reading.in);
    return f->by->open(&f->reading, &f->state, err);
}

void tp_recorded_close(struct tp_recorded_file *f)
{
    if (f->state)
        f->by->close(f->state);
    tp_input_close(f->reading.in);
}

int tp_recorded_verify(const struct tp_recorded_file *f, uint32_t device, struct tp_verified *out,
                       struct tp_err *err)
{
    *out = (struct tp_verified){.device = device};
    int rc = f->by->verify(f->state, device, out, err);
    out->device = device;
    out->name = f->by->part(f->state, device).name;
    return rc;
}

struct tp_text tp_device_title(uint32_t device, const char *name)
{
    return name ? tp_text_of("%s", name) : tp_text_of("device %u", (unsigned)device);
}
