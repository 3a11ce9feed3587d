/* Captures of the profiler of TensorFlow and JAX (*.xplane.pb): memory events of the allocator BFC.
 *
 *     file --> events by allocator (xplane_file.h) --> program (xplane_lower.c) */
#include "alloc/base/numbers.h"
#include "traces/formats/xplane/xplane_file.h"
#include "traces/input/protobuf.h"

#include <string.h>

#define CAPTURE "profiler capture (XSpace)"

/* A plane with one of the names that profilers give, or with a name and lines. */
static int probe_xplane(const unsigned char *data, size_t size)
{
    struct tp_protobuf w = {data, data + size}, plane;
    struct tp_protobuf_field f;
    static const char *const names[] = {"/host:", "/device:", "Task Environment"};
    if (!tp_protobuf_cut(&w, &f) || f.number != 1 || f.kind != TP_PROTOBUF_BYTES)
        return 0;
    plane = f.whole ? f.body : (struct tp_protobuf){w.at, w.end};
    while (plane.at < plane.end && tp_protobuf_cut(&plane, &f) && f.number <= 2) {
        size_t length = (size_t)(f.body.end - f.body.at);
        for (size_t i = 0; f.number == 2 && i < sizeof names / sizeof *names; i++)
            if (length >= strlen(names[i]) && !memcmp(f.body.at, names[i], strlen(names[i])))
                return 95;
    }
    return 0;
}

static int say_nothing(const struct tp_xplane *x)
{
    char nothing[120];
    snprintf(nothing, sizeof nothing,
             x->cut ? "%s of the profiler without memory events, and the file ends within the next "
                      "one"
                    : "%s of the profiler, and none has memory events",
             tp_plural(x->planes, "plane").s);
    tp_xplane_say_nothing(x, CAPTURE, nothing);
    return TP_OK;
}

static int read_xplane(const struct tp_reading *r, struct tp_err *err)
{
    struct tp_xplane x = {.reading = r, .capture = CAPTURE};
    int rc = tp_xplane_read(&x, err);
    if (rc == TP_OK)
        rc = x.count ? tp_xplane_lower(&x, err) : say_nothing(&x);
    tp_xplane_release(&x);
    return rc;
}

const struct tp_format tp_format_xplane = {
    .name = "xplane",
    .has_spaces = true,
    .summary = "captures of the TensorFlow and JAX profiler (*.xplane.pb) with BFC memory events",
    .record = "tf.profiler.experimental.start(\"DIR\"); ...; tf.profiler.experimental.stop(); "
              "with JAX: jax.profiler.start_trace(\"DIR\"); ...; jax.profiler.stop_trace(); "
              "DIR/plugins/profile/*/*.xplane.pb is the file",
    .capture = "TensorFlow " CAPTURE,
    .whole = "start the profiler before the first computation",
    .probe = probe_xplane,
    .read = read_xplane,
};
