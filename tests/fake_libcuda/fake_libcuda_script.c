/* TAPOOL_FAKE_CUDA: `key=value;key=value`. What it does not understand is a violation, so that no
 * test passes because of a slip of the pen. */
#include "tests/fake_libcuda/fake_libcuda_state.h"

#include <ctype.h>

const char *const fc_call_names[FC_CALL_COUNT] = {
#define FC_CALL_NAME(name) #name,
    FC_CALLS(FC_CALL_NAME)};

void fc_script_defaults(struct fc_script *s)
{
    *s = (struct fc_script){.devices = 1,
                            .version = 13000,
                            .memory = 8ull << 30,
                            .step = 1000,
                            .queue = 1024,
                            .pools = true,
                            .vmm = true};
}

static bool parse_number(const char *text, uint64_t *out)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    *out = strtoull(text, &end, 10);
    if (*end && strchr("KMGT", *end)) {
        *out <<= 10 * (strchr("KMGT", *end) - "KMGT" + 1);
        end += strcmp(end + 1, "iB") == 0 ? 3 : 1;
    }
    return *end == '\0';
}

static int call_named(const char *name, size_t length)
{
    for (int i = 0; i < FC_CALL_COUNT; i++) {
        if (strncmp(fc_call_names[i], name, length) == 0 && fc_call_names[i][length] == '\0')
            return i;
    }
    return -1;
}

/* NAME:N:CODE, N may be `*` */
static bool parse_fail(struct fc_script *s, const char *value)
{
    const char *nth = strchr(value, ':');
    const char *code = nth ? strchr(nth + 1, ':') : NULL;
    uint64_t n = 0, number;
    char text[24];
    if (!code || s->fail_count == FC_FAILS || !parse_number(code + 1, &number))
        return false;
    int call = call_named(value, (size_t)(nth - value));
    snprintf(text, sizeof text, "%.*s", (int)(code - nth - 1), nth + 1);
    if (call < 0 || (strcmp(text, "*") != 0 && (!parse_number(text, &n) || n == 0)))
        return false;
    s->fails[s->fail_count++] =
        (struct fc_fail){.call = (enum fc_call)call, .nth = n, .code = (CUresult)number};
    return true;
}

static bool parse_async(struct fc_script *s, const char *value)
{
    uint64_t number;
    char text[24];
    const char *code = strchr(value, ':');
    if (!code || !parse_number(code + 1, &number))
        return false;
    snprintf(text, sizeof text, "%.*s", (int)(code - value), value);
    s->async_code = (CUresult)number;
    return parse_number(text, &s->async_nth) && s->async_nth > 0;
}

static bool parse_missing(struct fc_script *s, const char *value)
{
    if (s->missing_count == FC_FAILS || strlen(value) >= FC_NAME)
        return false;
    snprintf(s->missing[s->missing_count++], FC_NAME, "%s", value);
    return true;
}

static bool parse_clock(struct fc_script *s, const char *value)
{
    s->real_time = strcmp(value, "real") == 0;
    return s->real_time;
}

struct row {
    const char *key;
    bool (*parse)(struct fc_script *s, const char *value);
    void (*set)(struct fc_script *s, uint64_t number); /* instead of parse */
};

static void set_devices(struct fc_script *s, uint64_t n)
{
    s->devices = n < FC_DEVICES ? (int)n : FC_DEVICES;
}
static void set_memory(struct fc_script *s, uint64_t n)
{
    s->memory = n;
}
static void set_own(struct fc_script *s, uint64_t n)
{
    s->own = n;
}
static void set_launch(struct fc_script *s, uint64_t n)
{
    s->launch = n;
}
static void set_version(struct fc_script *s, uint64_t n)
{
    s->version = (int)n;
}
static void set_pools(struct fc_script *s, uint64_t n)
{
    s->pools = n != 0;
}
static void set_vmm(struct fc_script *s, uint64_t n)
{
    s->vmm = n != 0;
}
static void set_lost(struct fc_script *s, uint64_t n)
{
    s->lost_at = n;
}
static void set_step(struct fc_script *s, uint64_t n)
{
    s->step = n;
}
static void set_queue(struct fc_script *s, uint64_t n)
{
    s->queue = n ? n : 1;
}
static void set_threshold(struct fc_script *s, uint64_t n)
{
    s->threshold = n;
}

static const struct row rows[] = {
    {"devices", NULL, set_devices},     {"memory", NULL, set_memory},
    {"version", NULL, set_version},     {"missing", parse_missing, NULL},
    {"pools", NULL, set_pools},         {"vmm", NULL, set_vmm},
    {"fail", parse_fail, NULL},         {"async", parse_async, NULL},
    {"lost", NULL, set_lost},           {"step", NULL, set_step},
    {"threshold", NULL, set_threshold}, {"queue", NULL, set_queue},
    {"clock", parse_clock, NULL},       {"own", NULL, set_own},
    {"launch", NULL, set_launch},
};

static bool parse_entry(struct fc_script *s, const char *entry)
{
    const char *value = strchr(entry, '=');
    uint64_t number;
    for (size_t i = 0; value && i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        if (strlen(row->key) != (size_t)(value - entry) ||
            strncmp(row->key, entry, (size_t)(value - entry)) != 0)
            continue;
        if (row->parse)
            return row->parse(s, value + 1);
        if (!parse_number(value + 1, &number))
            return false;
        row->set(s, number);
        return true;
    }
    return false;
}

bool fc_script_parse(struct fc_script *s, const char *text)
{
    char entry[128];
    bool good = true;
    fc_script_defaults(s);
    while (text && *text) {
        size_t length = strcspn(text, ";");
        snprintf(entry, sizeof entry, "%.*s", (int)length, text);
        if (length >= sizeof entry || (length > 0 && !parse_entry(s, entry))) {
            fc_violation(0, "TAPOOL_FAKE_CUDA: '%s' is not understood", entry);
            good = false;
        }
        text += length + (text[length] == ';');
    }
    return good;
}
