/* See recording_names.h. */
#include "traces/formats/recording/recording_names.h"

#include "alloc/base/ascending.h"

#include <string.h>

enum { FILES_MOST = 512, NAMES_MOST = 200000, ID_BYTES = 64 };

struct tp_recording_name {
    uint32_t function, file; /* in `words`, or TP_NO_TEXT */
    uint32_t line;
};

int tp_recording_names_want(struct tp_recording_names *n, const struct tp_reading *r, uint32_t file,
                            uint64_t address, struct tp_err *err)
{
    struct tp_id_entry *entry = NULL;
    if (file >= FILES_MOST || n->count == NAMES_MOST)
        return TP_OK;
    int rc = TP_READ_GROW(r, &n->files, &n->file_room, file + 1u, "files with code", err);
    if (!rc)
        rc = TP_READ_GROW(r, &n->names, &n->room, n->count + 1, "addresses of code", err);
    for (; !rc && n->file_count <= file; n->file_count++)
        n->files[n->file_count] =
            (struct tp_id_map){.how = tp_reading_growth(r, "addresses of code")};
    if (!rc)
        rc = tp_id_map_need(&n->files[file], (int64_t)address, (uint32_t)n->count, &entry, err);
    if (!rc && entry->index == n->count)
        n->names[n->count++] = (struct tp_recording_name){TP_NO_TEXT, TP_NO_TEXT, 0};
    return rc;
}

/* ---- finding ---- */

/* What naming.h is asked, of all files that addresses are wanted of. */
struct question {
    struct tp_recording_names *names;
    const struct tp_reading *reading;
    uint64_t *addresses; /* of all files */
    size_t room;
    struct tp_naming_file files[FILES_MOST];
    unsigned char ids[FILES_MOST][ID_BYTES];
    uint32_t numbers[FILES_MOST]; /* of the files here */
    size_t count;
};

static unsigned hex_digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* The addresses are behind those of the files before. */
static void ask_file(struct question *q, uint32_t number, const char *key, uint64_t *addresses)
{
    const struct tp_id_map *wanted = &q->names->files[number];
    unsigned char *id = q->ids[q->count];
    size_t id_bytes = 0, count = 0;
    for (; key[0] != ' '; key += 2)
        id[id_bytes++] = (unsigned char)(hex_digit(key[0]) << 4 | hex_digit(key[1]));
    const struct tp_id_entry *e;
    for (uint64_t i = 0; (e = tp_id_map_next(wanted, &i));)
        addresses[count++] = (uint64_t)e->id;
    tp_ascending(addresses, count);
    q->numbers[q->count] = number;
    q->files[q->count++] = (struct tp_naming_file){
        .path = key + 1, .id = id, .id_bytes = id_bytes, .addresses = addresses, .count = count};
}

static void take_state(void *ctx, size_t file, enum tp_symbols_state state)
{
    struct question *q = ctx;
    q->names->states[q->numbers[file]] = state;
}

static int take_word(struct question *q, const char *word, uint32_t *number, struct tp_err *err)
{
    return word ? tp_texts_need(&q->names->words, word, strlen(word), number, err) : TP_OK;
}

static int take_name(void *ctx, size_t file, size_t nth, const struct tp_symbol *s,
                     struct tp_err *err)
{
    struct question *q = ctx;
    const struct tp_id_entry *entry =
        tp_id_map_find(&q->names->files[q->numbers[file]], (int64_t)q->files[file].addresses[nth]);
    struct tp_recording_name *name = &q->names->names[entry->index];
    name->line = s->line;
    int rc = take_word(q, s->function, &name->function, err);
    return rc ? rc : take_word(q, s->file, &name->file, err);
}

static int ask(struct question *q, const struct tp_texts *keys, struct tp_err *err)
{
    struct tp_recording_names *n = q->names;
    size_t taken = 0;
    for (uint32_t i = 0; i < n->file_count; i++)
        if (n->files[i].used) {
            ask_file(q, i, tp_texts_get(keys, i), q->addresses + taken);
            taken += n->files[i].used;
        }
    const struct tp_naming naming = {.files = q->files,
                                     .count = q->count,
                                     .state = take_state,
                                     .name = take_name,
                                     .ctx = q,
                                     .stop = q->reading->opts->stop};
    return tp_naming_run(&naming, err);
}

int tp_recording_names_find(struct tp_recording_names *n, const struct tp_reading *r,
                            const struct tp_texts *keys, struct tp_err *err)
{
    if (!n->count || !tp_symbols_built)
        return TP_OK;
    struct question *q = calloc(1, sizeof *q);
    int rc = q ? TP_OK : tp_input_no_memory(r->in, err);
    if (rc)
        return rc;
    q->names = n;
    q->reading = r;
    n->words.how = tp_reading_growth(r, "names of code");
    rc = TP_READ_GROW(r, &n->states, &n->state_room, n->file_count, "files with code", err);
    if (!rc)
        rc = TP_READ_GROW(r, &q->addresses, &q->room, n->count, "addresses of code", err);
    if (!rc)
        rc = ask(q, keys, err);
    TP_GROW_END(&q->addresses, &q->room, .budget = r->budget);
    free(q);
    return rc;
}

/* ---- what was found ---- */

static const char *word_of(const struct tp_recording_names *n, uint32_t number)
{
    return number == TP_NO_TEXT ? NULL : tp_texts_get(&n->words, number);
}

struct tp_symbol tp_recording_names_get(const struct tp_recording_names *n, uint32_t file,
                                        uint64_t address)
{
    const struct tp_id_entry *entry =
        file < n->file_count ? tp_id_map_find(&n->files[file], (int64_t)address) : NULL;
    if (!entry)
        return (struct tp_symbol){0};
    const struct tp_recording_name *name = &n->names[entry->index];
    return (struct tp_symbol){word_of(n, name->function), word_of(n, name->file), name->line};
}

uint64_t tp_recording_names_like(const struct tp_recording_names *n, enum tp_symbols_state state)
{
    uint64_t count = 0;
    for (size_t i = 0; n->state_room && i < n->file_count; i++)
        count += n->files[i].used && n->states[i] == state;
    return count;
}

void tp_recording_names_release(struct tp_recording_names *n, const struct tp_reading *r)
{
    for (size_t i = 0; i < n->file_count; i++)
        tp_id_map_release(&n->files[i]);
    TP_GROW_END(&n->files, &n->file_room, .budget = r->budget);
    TP_GROW_END(&n->names, &n->room, .budget = r->budget);
    TP_GROW_END(&n->states, &n->state_room, .budget = r->budget);
    tp_texts_release(&n->words);
}
