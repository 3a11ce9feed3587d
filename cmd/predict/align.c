/* See align.h. The algorithm is that of Myers, "An O(ND) difference algorithm and its variations"
 * (1986), with its refinement for linear memory: a path of fewest edits is searched from both ends,
 * and where the two meet, both sides are searched in the same way.
 *
 *     +--------+          diagonal k: x - y
 *     |\ ..    |          forward[k], backward[k]: the farthest x that d edits reach
 *     |  \..   |
 *     |   +-\--|          the snake in the middle is a run of pairs
 *     |      \ |
 *     +--------+ */
#include "cmd/predict/align.h"

#include <stdbool.h>
#include <stdlib.h>

#define STEPS_MOST (UINT64_C(1) << 26)
#define UNREACHED  (INT64_MIN / 2) /* out of the box: no path goes on from there */

struct aligning {
    const uint64_t *first, *second;
    size_t *pairs;
    int64_t *forward, *backward; /* by diagonal, with room on both sides */
    uint64_t steps;
};

/* A part of both, from the first index up to, but not including, the last. */
struct box {
    size_t left, right, top, bottom;
};

/* A run of equal keys, which may be empty, from (x, y) to (u, v), in the box. */
struct snake {
    int64_t x, y, u, v;
};

/* How far a path on diagonal `k` gets with one more edit. */
static int64_t next_x(const int64_t *reached, int64_t k, int64_t d)
{
    bool down = k == -d || (k != d && reached[k - 1] < reached[k + 1]);
    return down ? reached[k + 1] : reached[k - 1] + 1;
}

static bool is_in(int64_t at, int64_t most)
{
    return at >= 0 && at <= most;
}

/* One round of d edits from the top left. True: it met what came from the bottom right. */
static bool go_forward(struct aligning *a, const struct box *b, int64_t d, struct snake *out)
{
    int64_t n = (int64_t)(b->right - b->left), m = (int64_t)(b->bottom - b->top), delta = n - m;
    for (int64_t k = -d; k <= d; k += 2) {
        int64_t x = next_x(a->forward, k, d), y = x - k;
        a->steps++;
        a->forward[k] = UNREACHED;
        if (!is_in(x, n) || !is_in(y, m))
            continue;
        *out = (struct snake){.x = x, .y = y};
        while (x < n && y < m && a->first[b->left + (size_t)x] == a->second[b->top + (size_t)y])
            x++, y++, a->steps++;
        a->forward[k] = x;
        out->u = x;
        out->v = y;
        int64_t back = delta - k;
        if (delta & 1 && back >= 1 - d && back <= d - 1 && x + a->backward[back] >= n)
            return true;
    }
    return false;
}

/* The same from the bottom right, where x and y count from there. */
static bool go_backward(struct aligning *a, const struct box *b, int64_t d, struct snake *out)
{
    int64_t n = (int64_t)(b->right - b->left), m = (int64_t)(b->bottom - b->top), delta = n - m;
    for (int64_t k = -d; k <= d; k += 2) {
        int64_t x = next_x(a->backward, k, d), y = x - k;
        int64_t u = n - x, v = m - y;
        a->steps++;
        a->backward[k] = UNREACHED;
        if (!is_in(x, n) || !is_in(y, m))
            continue;
        while (x < n && y < m &&
               a->first[b->right - 1 - (size_t)x] == a->second[b->bottom - 1 - (size_t)y])
            x++, y++, a->steps++;
        a->backward[k] = x;
        *out = (struct snake){.x = n - x, .y = m - y, .u = u, .v = v};
        int64_t ahead = delta - k;
        if (!(delta & 1) && ahead >= -d && ahead <= d && x + a->forward[ahead] >= n)
            return true;
    }
    return false;
}

/* The middle of a path with the fewest edits. False: too many steps. */
static bool find_middle(struct aligning *a, const struct box *b, struct snake *out)
{
    int64_t most = (int64_t)(b->right - b->left + b->bottom - b->top + 1) / 2;
    a->forward[1] = a->backward[1] = 0;
    for (int64_t d = 0; d <= most && a->steps < STEPS_MOST; d++)
        if (go_forward(a, b, d, out) || go_backward(a, b, d, out))
            return true;
    return false;
}

static void pair_ends(struct aligning *a, struct box *b)
{
    for (; b->left < b->right && b->top < b->bottom && a->first[b->left] == a->second[b->top];
         a->steps++)
        a->pairs[b->left++] = b->top++;
    for (; b->left < b->right && b->top < b->bottom &&
           a->first[b->right - 1] == a->second[b->bottom - 1];
         a->steps++)
        a->pairs[--b->right] = --b->bottom;
}

/* Each half has at most half of the edits, so this goes log n deep where few keys differ; where
 * many do, the limit of steps comes first. */
static bool align_box(struct aligning *a, struct box b)
{
    struct snake s;
    pair_ends(a, &b);
    if (b.left == b.right || b.top == b.bottom)
        return true;
    if (!find_middle(a, &b, &s))
        return false;
    for (int64_t i = 0; i < s.u - s.x; i++)
        a->pairs[b.left + (size_t)(s.x + i)] = b.top + (size_t)(s.y + i);
    const struct box before = {b.left, b.left + (size_t)s.x, b.top, b.top + (size_t)s.y};
    const struct box behind = {b.left + (size_t)s.u, b.right, b.top + (size_t)s.v, b.bottom};
    return align_box(a, before) && align_box(a, behind);
}

int tp_align(const uint64_t *first, size_t first_count, const uint64_t *second, size_t second_count,
             size_t *pairs, struct tp_err *err)
{
    size_t room = first_count + second_count + 4;
    int64_t *reached = calloc(2 * (2 * room + 1), sizeof *reached);
    if (!reached)
        return tp_fail(err, TP_ENOMEM, "out of memory for the alignment");
    struct aligning a = {.first = first,
                         .second = second,
                         .pairs = pairs,
                         .forward = reached + room,
                         .backward = reached + 3 * room + 1};
    for (size_t i = 0; i < first_count; i++)
        pairs[i] = TP_UNPAIRED;
    bool done = align_box(&a, (struct box){0, first_count, 0, second_count});
    free(reached);
    return done ? TP_OK
                : tp_fail(err, TP_EUNSUP,
                          "the recordings differ in too many allocations to be "
                          "aligned");
}
