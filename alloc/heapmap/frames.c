/* See frames.h: the memory of frames, and which of them stay.
 *
 * A frame that is missed least is found as cartographers thin a line (Visvalingam and Whyatt,
 * 1993): the point whose triangle with its two neighbours is smallest goes first. Here a point has
 * an event and two heights, allocated and reserved bytes, and the areas of both triangles count.
 *
 *          o               the middle one of o-----o-----o goes, the tip stays;
 *         / \              of a flat stretch the frames stay that lie furthest apart
 *     o--o   o--o--o--o
 *
 * Known weakness: what happened inside of a flat stretch, where as much was freed as was taken, is
 * not seen by it. */
#include "alloc/heapmap/frames.h"

#include <math.h>
#include <string.h>

#define USUAL_BYTES (UINT64_C(2) << 20) /* for the rows of all frames */
enum { BYTES_DEVICES = 4 };             /* so many devices have that each */

/* Bytes for the rows of a frame. */
enum { ROOM_LEAST = 2048, ROOM_MOST = 32768, ROOM_UNIT = 64 };
static_assert((int)ROOM_LEAST >= (int)TP_FRAME_ROWS_LEAST, "the coarsest rows fit");

/* The frames of one device: the first `count` of `order` are their places, by event, and the others
 * the places that are free. */
struct frames_device {
    uint64_t left_out;
    uint32_t count;
    uint16_t order[TP_FRAMES_MOST + 2];
};

/* How many frames each device has, and how much room. */
static struct tp_frames shape_of(uint32_t devices, uint32_t most)
{
    uint64_t all = USUAL_BYTES * (devices < BYTES_DEVICES ? devices : BYTES_DEVICES);
    uint64_t fit = all / devices / ROOM_LEAST - 1;
    struct tp_frames f = {.devices = devices,
                          .most = most < TP_FRAMES_MOST ? most : TP_FRAMES_MOST};
    f.most = f.most < fit ? f.most : (uint32_t)fit;
    f.most = f.most > TP_FRAMES_LEAST ? f.most : TP_FRAMES_LEAST;
    uint64_t room = all / devices / (f.most + 1) / ROOM_UNIT * ROOM_UNIT;
    f.room = room < ROOM_MOST ? (uint32_t)room : ROOM_MOST;
    f.bytes = sizeof f + devices * (sizeof(struct frames_device) +
                                    (f.most + 1) * (sizeof(struct tp_frame) + f.room));
    return f;
}

size_t tp_frames_size(uint32_t devices, uint32_t most)
{
    return (size_t)shape_of(devices, most).bytes;
}

/* ---- where everything lies; there is one frame more than `most`, for the one that is added ----
 */

static struct frames_device *device_of(const struct tp_frames *f, uint32_t device)
{
    return (struct frames_device *)(uintptr_t)(f + 1) + device;
}

static struct tp_frame *frame_of(const struct tp_frames *f, uint32_t device, uint32_t place)
{
    struct tp_frame *all = (struct tp_frame *)(void *)device_of(f, f->devices);
    return all + (size_t)device * (f->most + 1) + place;
}

static uint8_t *rows_of(const struct tp_frames *f, uint32_t device, uint32_t place)
{
    uint8_t *all = (uint8_t *)frame_of(f, f->devices, 0);
    return all + ((size_t)device * (f->most + 1) + place) * f->room;
}

void tp_frames_open(struct tp_frames *f, uint32_t devices, uint32_t most)
{
    *f = shape_of(devices, most);
    for (uint32_t d = 0; d < devices; d++) {
        struct frames_device *fd = device_of(f, d);
        fd->left_out = fd->count = 0;
        for (uint32_t i = 0; i <= f->most; i++)
            fd->order[i] = (uint16_t)i;
    }
}

uint32_t tp_frames_count(const struct tp_frames *f, uint32_t device)
{
    return device_of(f, device)->count;
}

const struct tp_frame *tp_frames_at(const struct tp_frames *f, uint32_t device, uint32_t index)
{
    return frame_of(f, device, device_of(f, device)->order[index]);
}

uint64_t tp_frames_left_out(const struct tp_frames *f, uint32_t device)
{
    return device_of(f, device)->left_out;
}

const uint8_t *tp_frame_bytes(const struct tp_frames *f, uint32_t device,
                              const struct tp_frame *frame)
{
    return rows_of(f, device, frame->place);
}

struct tp_frame_reader tp_frame_read(const struct tp_frames *f, uint32_t device,
                                     const struct tp_frame *frame)
{
    const uint8_t *at = tp_frame_bytes(f, device, frame);
    return (struct tp_frame_reader){
        .at = at, .end = at + frame->length, .unit_log2 = frame->unit_log2};
}

/* ---- which one is missed least ---- */

/* How much a frame would be missed; compared by the members in turn. */
struct missed {
    unsigned rank; /* 0: not one of those that are always kept, and between two others */
    double area, width;
};

enum { RANK_END = 1, MARK_WEIGHT = 4 };

/* Later ones are missed more. */
static const uint32_t kept_reasons[] = {TP_FRAME_END, TP_FRAME_BEGIN, TP_FRAME_FAILED,
                                        TP_FRAME_RESERVED, TP_FRAME_DEMAND};

static unsigned rank_of(const struct tp_frame *frame)
{
    unsigned rank = 0;
    for (unsigned i = 0; i < TP_FRAMES_LEAST; i++)
        if (frame->reasons & kept_reasons[i])
            rank = RANK_END + 1 + i;
    return rank;
}
static_assert(sizeof kept_reasons / sizeof *kept_reasons == TP_FRAMES_LEAST, "a frame for each");

/* Twice the area of a triangle whose corners are events and bytes. */
static double area_of(const struct tp_frame *const *list, size_t i, const uint64_t bytes[3])
{
    double x = (double)(list[i]->event - list[i - 1]->event);
    double width = (double)(list[i + 1]->event - list[i - 1]->event);
    double up = (double)bytes[1] - (double)bytes[0], all = (double)bytes[2] - (double)bytes[0];
    return fabs(width * up - x * all);
}

static struct missed missed_of(const struct tp_frame *const *list, size_t count, size_t i)
{
    struct missed m = {.rank = rank_of(list[i])};
    if (!m.rank && (i == 0 || i + 1 == count))
        m.rank = RANK_END;
    if (m.rank)
        return m;
    const struct tp_frame *a = list[i - 1], *b = list[i], *c = list[i + 1];
    const double weight = b->reasons & TP_FRAME_MARK ? MARK_WEIGHT : 1;
    const uint64_t allocated[] = {a->allocated, b->allocated, c->allocated};
    const uint64_t reserved[] = {a->reserved, b->reserved, c->reserved};
    m.area = weight * (area_of(list, i, allocated) + area_of(list, i, reserved));
    m.width = weight * (double)(c->event - a->event);
    return m;
}

static bool is_missed_less(const struct missed *a, const struct missed *b)
{
    if (a->rank != b->rank)
        return a->rank < b->rank;
    return a->area < b->area || (a->area <= b->area && a->width < b->width);
}

size_t tp_frames_least(const struct tp_frame *const *list, size_t count)
{
    struct missed least = missed_of(list, count, 0);
    size_t at = 0;
    for (size_t i = 1; i < count; i++) {
        struct missed m = missed_of(list, count, i);
        if (!is_missed_less(&m, &least))
            continue;
        least = m;
        at = i;
    }
    return at;
}

static void thin(struct tp_frames *f, uint32_t device)
{
    const struct tp_frame *list[TP_FRAMES_MOST + 1];
    struct frames_device *fd = device_of(f, device);
    for (uint32_t i = 0; i < fd->count; i++)
        list[i] = tp_frames_at(f, device, i);
    size_t least = tp_frames_least(list, fd->count);
    uint16_t place = fd->order[least];
    fd->count--;
    memmove(&fd->order[least], &fd->order[least + 1], (fd->count - least) * sizeof place);
    fd->order[fd->count] = place;
    fd->left_out++;
}

/* ---- adding ---- */

/* The index behind the frames whose event is not above `event`. */
static uint32_t index_behind(const struct tp_frames *f, uint32_t device, uint64_t event)
{
    uint32_t i = tp_frames_count(f, device);
    while (i && tp_frames_at(f, device, i - 1)->event > event)
        i--;
    return i;
}

void tp_frames_add(struct tp_frames *f, uint32_t device, const struct tp_frame *frame,
                   const struct tp_heap_layout *heap, unsigned *coarseness)
{
    struct frames_device *fd = device_of(f, device);
    uint16_t place = fd->order[fd->count];
    uint32_t index = index_behind(f, device, frame->event);
    struct tp_frame *to = frame_of(f, device, place);
    struct tp_frame_room room = {.at = rows_of(f, device, place), .bytes = f->room};
    *to = *frame;
    to->place = place;
    to->ranges = (uint32_t)heap->range_count;
    tp_frame_write(heap, &room, coarseness);
    to->length = room.length;
    to->unit_log2 = room.unit_log2;
    to->bundle_log2 = room.bundle_log2;
    memmove(&fd->order[index + 1], &fd->order[index], (fd->count - index) * sizeof place);
    fd->order[index] = place;
    if (++fd->count > f->most)
        thin(f, device);
}

struct tp_frame *tp_frames_last(struct tp_frames *f, uint32_t device)
{
    const struct frames_device *fd = device_of(f, device);
    return fd->count ? frame_of(f, device, fd->order[fd->count - 1]) : NULL;
}

void tp_frames_withdraw(struct tp_frames *f, uint32_t device, uint32_t reason)
{
    for (uint32_t i = 0; i < tp_frames_count(f, device); i++) {
        struct tp_frame *frame = frame_of(f, device, device_of(f, device)->order[i]);
        if (frame->reasons == reason)
            frame->reasons = TP_FRAME_CHANGE;
        frame->reasons &= ~reason;
    }
}

/* ---- whether what another process wrote can be read ---- */

/* Whether the rows can be read to their end and have the sums of the frame. */
static bool rows_hold(const struct tp_frames *f, uint32_t device, const struct tp_frame *frame,
                      const struct tp_program_facts *facts)
{
    struct tp_frame_reader r = tp_frame_read(f, device, frame);
    struct tp_frame_row row;
    struct tp_frame_piece piece;
    uint64_t sums[TP_WALK_COUNT] = {0}, all = frame->page_rest;
    bool holds = true;
    while (tp_frame_row(&r, &row))
        while (tp_frame_piece(&r, &piece)) {
            holds &= piece.event <= facts->events;
            for (int k = 0; k < TP_WALK_COUNT; k++)
                sums[k] += piece.bytes[k];
        }
    for (int k = 0; k < TP_WALK_COUNT; k++)
        all += sums[k];
    return holds && !r.broken && all == frame->reserved && !memcmp(sums, frame->kinds, sizeof sums);
}

static bool frame_holds(const struct tp_frames *f, uint32_t device, const struct tp_frame *frame,
                        const struct tp_program_facts *facts)
{
    return frame->length <= f->room && frame->unit_log2 < 64 && frame->bundle_log2 < 64 &&
           frame->event <= facts->events && frame->reasons &&
           !(frame->reasons >> TP_FRAME_REASONS) &&
           (frame->mark == UINT32_MAX || frame->mark < facts->marks) &&
           rows_hold(f, device, frame, facts);
}

static bool device_holds(const struct tp_frames *f, uint32_t device,
                         const struct tp_program_facts *facts)
{
    const struct frames_device *fd = device_of(f, device);
    bool seen[TP_FRAMES_MOST + 1] = {false};
    if (fd->count > f->most)
        return false;
    for (uint32_t i = 0; i < fd->count; i++) {
        uint16_t place = fd->order[i];
        if (place > f->most || seen[place] || frame_of(f, device, place)->place != place)
            return false;
        seen[place] = true;
        if ((i && tp_frames_at(f, device, i)->event < tp_frames_at(f, device, i - 1)->event) ||
            !frame_holds(f, device, tp_frames_at(f, device, i), facts))
            return false;
    }
    return true;
}

bool tp_frames_hold(const struct tp_frames *f, uint32_t most, const struct tp_program_facts *facts)
{
    const struct tp_frames shape = shape_of(facts->devices, most);
    bool holds = !memcmp(f, &shape, sizeof shape);
    for (uint32_t d = 0; holds && d < f->devices; d++)
        holds = device_holds(f, d, facts);
    return holds;
}
