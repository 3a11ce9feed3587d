/* Numbers threads, streams and devices: hash maps to dense indices in order of appearance, so that
 * the same trace always gives the same program. */
#include "traces/lower/lower_ids.h"

#include <inttypes.h>
#include <stdlib.h>

void tp_threads_init(struct tp_threads *t)
{
    *t = (struct tp_threads){.map.how.what = "threads"};
}

void tp_threads_release(struct tp_threads *t)
{
    tp_id_map_release(&t->map);
    free(t->ended);
    t->ended = NULL;
}

static int first_appearance(struct tp_threads *t, int64_t id, uint16_t *index, struct tp_err *err)
{
    bool again = t->ended_count > 0;
    if (!again && t->used == TP_MAX_THREADS)
        return tp_hint(err, tp_fail(err, TP_EINPUT, "more than %u threads at once", TP_MAX_THREADS),
                       "a 'thread_end' event says that a thread is over");
    uint16_t next = again ? t->ended[t->ended_count - 1] : (uint16_t)t->used;
    struct tp_id_entry *entry = NULL;
    int rc = tp_id_map_need(&t->map, id, next, &entry, err);
    if (rc != TP_OK)
        return rc;
    if (again)
        t->ended_count--;
    else
        t->used++;
    t->recorded++;
    *index = next;
    return TP_OK;
}

int tp_threads_index(struct tp_threads *t, uint64_t thread, uint16_t *index, struct tp_err *err)
{
    int64_t id = (int64_t)thread;
    if (t->last_valid && t->last_id == id) {
        *index = t->last_index;
        return TP_OK;
    }
    const struct tp_id_entry *entry = tp_id_map_find(&t->map, id);
    if (entry) {
        *index = (uint16_t)entry->index;
    } else {
        int rc = first_appearance(t, id, index, err);
        if (rc != TP_OK)
            return rc;
    }
    t->last_id = id;
    t->last_index = *index;
    t->last_valid = true;
    return TP_OK;
}

bool tp_threads_known(const struct tp_threads *t, uint64_t thread)
{
    return tp_id_map_find(&t->map, (int64_t)thread) != NULL;
}

int tp_threads_end(struct tp_threads *t, uint64_t thread, struct tp_err *err)
{
    struct tp_id_entry *entry = tp_id_map_find(&t->map, (int64_t)thread);
    assert(entry);
    int rc = TP_GROW(&t->ended, &t->ended_room, t->ended_count + 1, err, .what = "threads");
    if (rc != TP_OK)
        return rc;
    t->ended[t->ended_count++] = (uint16_t)entry->index;
    tp_id_map_remove(&t->map, entry);
    t->last_valid = false;
    return TP_OK;
}

void tp_streams_init(struct tp_streams *s)
{
    *s = (struct tp_streams){.streams.how.what = "streams",
                             .devices.how.what = "devices",
                             .handles.how.what = "streams"};
}

void tp_streams_release(struct tp_streams *s)
{
    tp_id_map_release(&s->streams);
    tp_id_map_release(&s->devices);
    tp_id_map_release(&s->handles);
    free(s->device_of);
    s->device_of = NULL;
}

int tp_streams_add(struct tp_streams *s, int64_t id, int64_t device, struct tp_err *err)
{
    struct tp_id_entry *entry = NULL;
    size_t index = s->streams.used;
    if (tp_id_map_find(&s->streams, id))
        return tp_fail(err, TP_EINPUT, "stream %" PRId64 " is declared twice", id);
    if (index == TP_MAX_STREAMS)
        return tp_fail(err, TP_EINPUT, "more than %u streams", TP_MAX_STREAMS);
    if (s->devices.used == TP_MAX_DEVICES && !tp_id_map_find(&s->devices, device))
        return tp_fail(err, TP_EINPUT, "more than %u devices", TP_MAX_DEVICES);
    int rc = TP_GROW(&s->device_of, &s->room, index + 1, err, .what = "streams");
    if (rc == TP_OK)
        rc = tp_id_map_need(&s->devices, device, (uint32_t)s->devices.used, &entry, err);
    if (rc != TP_OK)
        return rc;
    s->device_of[index] = (uint16_t)entry->index;
    return tp_id_map_need(&s->streams, id, (uint32_t)index, &entry, err);
}

int tp_streams_need(struct tp_streams *s, int64_t handle, int64_t device, int64_t *id,
                    struct tp_err *err)
{
    const struct tp_id_entry *known = tp_id_map_find(&s->devices, device);
    uint32_t number = 0;
    int rc = tp_id_map_number(&s->handles, handle, &number, err);
    /* a new device gets the next number when its stream is added */
    *id = tp_id_pair(known ? known->index : (uint32_t)s->devices.used, number);
    if (rc != TP_OK || (known && tp_id_map_find(&s->streams, *id)))
        return rc;
    return tp_streams_add(s, *id, device, err);
}

bool tp_streams_find(const struct tp_streams *s, int64_t id, uint16_t *index)
{
    const struct tp_id_entry *entry = tp_id_map_find(&s->streams, id);
    if (entry)
        *index = (uint16_t)entry->index;
    return entry != NULL;
}
