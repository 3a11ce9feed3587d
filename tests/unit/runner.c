/* Many test files in one executable: linking one for each takes longer than compiling them.
 *
 *     unit_alloc test_lru        or a link named test_lru that leads to unit_alloc
 *
 * Every file has a main of its own, which CMake renames to NAME_main; TESTS, which CMake writes,
 * lists them: ALONE those without arguments, ASKED those with. */
#include TESTS_FILE

#include <stdio.h>
#include <string.h>

#define DECLARE_ALONE(name) int name##_main(void);
#define DECLARE_ASKED(name) int name##_main(int argc, char **argv);
TESTS(DECLARE_ALONE, DECLARE_ASKED)

struct test {
    const char *name;
    int (*alone)(void);
    int (*asked)(int argc, char **argv);
};
#define ROW_ALONE(name) {#name, name##_main, NULL},
#define ROW_ASKED(name) {#name, NULL, name##_main},
static const struct test tests[] = {TESTS(ROW_ALONE, ROW_ASKED){NULL, NULL, NULL}};

static const struct test *find(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (const struct test *t = tests; t->name; t++)
        if (!strcmp(t->name, name))
            return t;
    return NULL;
}

int main(int argc, char **argv)
{
    const struct test *t = argc > 0 ? find(argv[0]) : NULL;
    if (!t && argc > 1) {
        argc--;
        argv++;
        t = find(argv[0]);
    }
    if (t)
        return t->alone ? t->alone() : t->asked(argc, argv);
    fprintf(stderr, "usage: unit_ROOM TEST; there are:\n");
    for (t = tests; t->name; t++)
        fprintf(stderr, "  %s\n", t->name);
    return 2;
}
