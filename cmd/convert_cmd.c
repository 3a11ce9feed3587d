/* tapool convert: reads any format and writes one of tapool's own, or a list of lifetimes. A piece
 * of a trace, or a trace without its marks and notes, is lowered again before it is written. */
#include "alloc/base/clean.h"
#include "alloc/base/units.h"
#include "cmd/cli/commands.h"
#include "cmd/cli/config.h"
#include "cmd/jobs/catalog.h"
#include "cmd/jobs/open_trace.h"
#include "cmd/jobs/save_trace.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/option_words.h"
#include "cmd/ui/output.h"
#include "cmd/ui/text.h"
#include "traces/lower/unlower.h"
#include "traces/places/place_table.h"
#include "traces/record/recording.h"

#include <stdlib.h>
#include <string.h>

struct convert_opts {
    struct tp_open_opts open;
    char *output, *from, *to_format;
    bool strip, compress, force, recover, json;
};

#define ROW(member) offsetof(struct convert_opts, member)
static const struct tp_opt rows[] = {
    TP_OUTPUT_ROW(ROW(output), "file to write, in the format of its suffix; '-': standard output\n"
                               ".tpt, .json, .jsonl or .csv"),
    TP_TEXT_AT("output-format", ROW(to_format), .arg = "NAME", TP_FIRST(OUTPUT),
               .help = "write this format instead of the suffix's\n"
                       "tpt, json, jsonl or csv (default on standard output: jsonl)"),
    TP_TEXT_AT("from", ROW(from), .arg = "A:B", TP_FIRST(TRACES),
               .help = "keep events A to B, counted from 1; either may be empty\n"
                       "Allocations live at A become the initial heap."),
    TP_FLAG_AT("strip", ROW(strip), TP_FIRST(OUTPUT),
               .help = "keep only sizes, order and times: no marks, notes or metadata"),
    TP_FLAG_AT("compress", ROW(compress), TP_FIRST(OUTPUT),
               .help = "compress a .tpt with zstd: smaller, slower to read"),
    TP_FLAG_AT("recover", ROW(recover), TP_FIRST(TRACES),
               .help = "convert NAME.recording, left by a killed record, to NAME"),
    TP_OPEN_ROWS(struct convert_opts),
    TP_FORCE_ROW(ROW(force)),
    TP_FLAG_AT("json", ROW(json), .help = "print JSON", TP_FIRST(OUTPUT)),
    {.name = NULL}};

/* ---- what to write ---- */

static void list_writers(char *out, size_t size, bool suffixes)
{
    struct tp_str s = tp_str_in(out, size);
    for (size_t i = 0; tp_trace_writers[i]; i++)
        tp_str_item(&s, ", ", "%s",
                    suffixes ? tp_trace_writers[i]->suffix : tp_trace_writers[i]->name);
}

static int choose_writer(const struct convert_opts *o, const char *output,
                         const struct tp_trace_writer **out, struct tp_err *err)
{
    char all[256];
    if (o->to_format) {
        *out = tp_find_writer(o->to_format, false);
        list_writers(all, sizeof all, false);
        return *out ? TP_OK
                    : tp_hint(err,
                              tp_fail(err, TP_EUSAGE, "unknown output format '%s'", o->to_format),
                              "there are: %s", all);
    }
    *out = strcmp(output, "-") ? tp_find_writer(strrchr(output, '.'), true)
                               : tp_find_writer("jsonl", false);
    if (*out)
        return TP_OK;
    list_writers(all, sizeof all, true);
    return tp_hint(err, tp_fail(err, TP_EUSAGE, "'%s' does not say in which form", o->output),
                   "names end in %s; --output-format decides otherwise", all);
}

static int check_compress(const struct tp_args *args, const struct tp_trace_writer *writer,
                          struct tp_err *err)
{
    const struct convert_opts *o = args->opts;
    if (!o->compress || !strcmp(writer->name, "tpt") || !tp_config_typed(args, rows, "compress"))
        return TP_OK; /* other writers ignore a level from the configuration */
    return tp_hint(err,
                   tp_fail(err, TP_EUSAGE, "--compress is for .tpt, not for %s", writer->suffix),
                   "zstd or gzip pack any file, and tapool reads it packed");
}

/* Parses one end of A:B. An empty text gives 0: the piece is open at this end. */
static int parse_event(const char *text, size_t length, uint64_t *out)
{
    char digits[24];
    char *end = NULL;
    *out = 0;
    if (!length)
        return TP_OK;
    if (length >= sizeof digits || strspn(text, "0123456789") < length)
        return TP_EUSAGE;
    memcpy(digits, text, length);
    digits[length] = '\0';
    *out = strtoull(digits, &end, 10);
    return *out ? TP_OK : TP_EUSAGE;
}

static int parse_piece(const char *text, struct tp_unlower_cfg *cfg, struct tp_err *err)
{
    const char *colon = text ? strchr(text, ':') : NULL;
    if (!text)
        return TP_OK;
    if (!colon || parse_event(text, (size_t)(colon - text), &cfg->first) ||
        parse_event(colon + 1, strlen(colon + 1), &cfg->last))
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "--from is '%s', not A:B", text),
                       "events are counted from 1: --from 1000:2000, --from 1000:, --from :2000");
    if (cfg->last && cfg->first > cfg->last)
        return tp_fail(err, TP_EUSAGE, "--from %s ends before it begins", text);
    return TP_OK;
}

/* ---- a piece ---- */

/* Notes in the trace that it is a piece, and drops the figures of the recorded allocator, which
 * were those of the whole trace. */
static int describe_piece(struct tp_trace *t, const struct tp_unlower_cfg *piece, uint64_t events,
                          struct tp_err *err)
{
    uint64_t last = piece->last && piece->last < events ? piece->last : events;
    if (!piece->first && !piece->last)
        return TP_OK;
    tp_recorded_release(&t->recorded);
    tp_meta_remark(&t->meta, "events %s to %s of %s of %s",
                   tp_count(piece->first ? piece->first : 1).s, tp_count(last).s,
                   tp_count(events).s, t->file);
    return tp_meta_status(&t->meta, err);
}

static void strip_meta(struct tp_trace *t)
{
    enum tp_kind kind = t->meta.kind;
    tp_meta_release(&t->meta);
    tp_recorded_release(&t->recorded);
    t->meta = (struct tp_meta){.kind = kind};
    if (t->places.release)
        t->places.release(t->places.ctx);
    t->places = (struct tp_places){0};
}

static int prepare(struct tp_trace *t, const struct convert_opts *o,
                   const struct tp_unlower_cfg *piece, struct tp_err *err)
{
    uint64_t events = tp_program_facts(t->program)->events;
    int status = TP_OK;
    if (piece->first || piece->last || piece->strip)
        status = tp_trace_cut(t, piece, err);
    if (!status)
        status = describe_piece(t, piece, events, err);
    if (!status && o->strip)
        strip_meta(t);
    return status;
}

/* ---- the whole ---- */

static bool drops_callers(const struct tp_saving *s)
{
    return s->writer->whole && !s->writer->callers && tp_places_have_callers(&s->trace->places);
}

static void print_done(const struct tp_saving *s, struct tp_page *page)
{
    const struct tp_program_facts *f = tp_program_facts(s->trace->program);
    const char *path = s->path;
    uint64_t bytes = tp_saved_bytes(path);
    char shown[256];
    tp_clean_text(path, shown, sizeof shown);
    tp_page_at(page, 0, "%s: %s", shown, tp_plural(f->events, "event").s);
    if (bytes != TP_NONE && f->events)
        tp_page_more(page, 0, ", %s, %.1f bytes an event", tp_bytes(bytes, page->exact).s,
                     (double)bytes / (double)f->events);
    tp_page_line(page);
    if (drops_callers(s))
        tp_page_put(page, 0,
                    "Of the call stacks it keeps the allocation site; the callers stay "
                    "behind, a .tpt keeps them.");
    tp_page_command(page, "Next: tapool replay", path);
}

/* tapool.convert/2 (cmd/jobs/convert.schema.json). */
static int write_done(const struct tp_saving *s, FILE *out, struct tp_err *err)
{
    struct tp_json j = {false};
    cJSON *root = tp_json_object(&j, NULL, NULL);
    tp_json_text(&j, root, "schema", "tapool.convert/2");
    tp_json_tool(&j, root);
    tp_json_saved(&j, root, s->path, s->writer->name, tp_program_facts(s->trace->program)->events);
    tp_json_bool(&j, root, "callers_dropped", drops_callers(s));
    return tp_json_print(&j, root, out, err);
}

static int report_done(const struct tp_saving *s, bool json, FILE *out, struct tp_err *err)
{
    struct tp_page page;
    if (json)
        return write_done(s, out, err);
    tp_page_init(&page, out, 0);
    print_done(s, &page);
    return TP_OK;
}

static int convert(const struct tp_args *args, const char *output, FILE *out, struct tp_err *err)
{
    const struct convert_opts *o = args->opts;
    struct tp_trace trace = {0};
    struct tp_unlower_cfg piece = {.strip = o->strip, .numbers = !o->strip};
    struct tp_saving saving = {
        .trace = &trace, .path = output, .compress = o->compress, .force = o->force};
    bool to_file = strcmp(output, "-") != 0, all = o->open.device == TP_OPT_KEYWORD(0);
    int status = tp_json_beside(tp_config_typed(args, rows, "json"), to_file, err);
    if (!status)
        status = choose_writer(o, output, &saving.writer, err);
    if (!status)
        status = check_compress(args, saving.writer, err);
    if (!status)
        status = parse_piece(o->from, &piece, err);
    if (!status && to_file)
        status = tp_output_check(output, o->force, err);
    struct tp_open_opts open = o->open;
    open.any_device = !status && saving.writer->one_device;
    if (!status)
        status = tp_open_trace(args->words[0], &open, false, &trace, err);
    if (status)
        return status;
    saving.device = all || trace.device_chosen ? -1 : (int64_t)o->open.device;
    status = prepare(&trace, o, &piece, err);
    if (!status)
        status = tp_trace_save(&saving, out, err);
    if (!status && to_file)
        status = report_done(&saving, o->json, out, err);
    tp_trace_close(&trace);
    return status;
}

static int fail_no_output(const char *word, struct tp_err *err)
{
    struct tp_str trace = {0};
    tp_str_escape(&trace, TP_TO_SHELL, word);
    int status =
        tp_hint(err, tp_fail(err, TP_EUSAGE, "convert needs a file to write"),
                "tapool convert %s -o NAME.tpt; '-o -' is standard output", tp_str_text(&trace));
    tp_str_drop(&trace);
    return status;
}

/* Writes the trace under the name that `record` would have given it. */
static int recover(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    const char *word = args->words[0];
    size_t length = strlen(word), suffix = strlen(TP_RECORDING_SUFFIX);
    if (length <= suffix || strcmp(word + length - suffix, TP_RECORDING_SUFFIX) != 0)
        return tp_fail(err, TP_EUSAGE, "--recover is for a file whose name ends in %s",
                       TP_RECORDING_SUFFIX);
    struct tp_str name = {0};
    tp_str_add(&name, "%.*s", (int)(length - suffix), word);
    int status = tp_str_status(&name, err);
    if (!status)
        status = convert(args, tp_str_text(&name), out, err);
    tp_str_drop(&name);
    return status;
}

static int run_convert(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    const struct convert_opts *o = args->opts;
    if (args->count != 1)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "convert takes one trace"),
                       "tapool convert sample:sqlite -o sqlite.tpt");
    if (o->output)
        return convert(args, o->output, out, err);
    return o->recover ? recover(args, out, err) : fail_no_output(args->words[0], err);
}

const struct tp_command tp_command_convert = {
    .name = "convert",
    .usage = "convert TRACE -o FILE [OPTION]...",
    .summary = "convert a trace: any supported format in, .tpt, .json, .jsonl or .csv out",
    .about =
        "Convert a trace to another format.\n\n"
        ".tpt is tapool's binary format: compact, checksummed, replayed without unpacking. .json "
        "and .jsonl are its text formats. These three keep the whole trace: events, marks, notes, "
        "allocation sites, repair counts and the program hash; JSON drops the callers of call "
        "stacks. .csv is a list of lifetimes for offline packing with minimalloc.\n\n"
        "Malformed events are repaired during the conversion; the counts are kept in FILE. FILE "
        "appears only when it is complete.",
    .opts_size = sizeof(struct convert_opts),
    .options = rows,
    .run = run_convert,
};
