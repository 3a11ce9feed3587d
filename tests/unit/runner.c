/* Many test files in one executable: linking one for each takes longer than compiling them.
 *
 *     unit_alloc test_lru        or a link named test_lru that leads to unit_alloc
 *
 * The linker gathers the tests of all files (tests/unit/test.h). A file that needs more has a main
 * of its own, which CMake renames to NAME_main; OWN_MAINS, which CMake writes, lists those: ALONE
 * without arguments, ASKED with. */
#include OWN_MAINS_FILE

#include "alloc/base/err.h"
#include "tests/unit/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DECLARE_ALONE(name) int name##_main(void);
#define DECLARE_ASKED(name) int name##_main(int argc, char **argv);
OWN_MAINS(DECLARE_ALONE, DECLARE_ASKED)

static const struct own_main {
    const char *name;
    int (*alone)(void);
    int (*asked)(int argc, char **argv);
} own_mains[] = {
#define ROW_ALONE(name) {#name, name##_main, NULL},
#define ROW_ASKED(name) {#name, NULL, name##_main},
    OWN_MAINS(ROW_ALONE, ROW_ASKED){NULL, NULL, NULL}};

/* The first and the end of the section, as the linker names them. */
extern const struct tests_of_file *const first_tests[] __asm__("__start_tests_of_files");
extern const struct tests_of_file *const end_of_tests[] __asm__("__stop_tests_of_files");

/* The section is there in a build in which every file has a main. */
TESTS_IN_SECTION(no_tests, NULL, 0, NULL, NULL);

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_of(const struct tests_of_file *t, const char *name)
{
    const char *file = name_of(t->file);
    size_t length = strlen(name);
    return strncmp(file, name, length) == 0 && strcmp(file + length, ".c") == 0;
}

static int by_line(const void *a, const void *b)
{
    const struct tests_of_file *const *x = a, *const *y = b;
    return ((*x)->line > (*y)->line) - ((*x)->line < (*y)->line);
}

/* -1: there are none. */
static int run_tests_of(const char *name)
{
    const struct tests_of_file **found =
        calloc((size_t)(end_of_tests - first_tests), sizeof(void *));
    CMFixtureFunction before = NULL, after = NULL;
    size_t files = 0, count = 0;
    for (const struct tests_of_file *const *t = first_tests; found && t < end_of_tests; t++) {
        if (!is_of(*t, name))
            continue;
        found[files++] = *t;
        count += (*t)->count;
        if ((*t)->count == 0) {
            before = (*t)->before;
            after = (*t)->after;
        }
    }
    int rc = -1;
    struct CMUnitTest *tests = count ? calloc(count, sizeof *tests) : NULL;
    if (tests) {
        qsort(found, files, sizeof *found, by_line);
        size_t used = 0;
        for (size_t i = 0; i < files; used += found[i++]->count)
            if (found[i]->count)
                memcpy(tests + used, found[i]->tests, found[i]->count * sizeof *tests);
        rc = _cmocka_run_group_tests(name, tests, count, before, after);
    }
    free(tests);
    free(found);
    return rc;
}

/* Of the room that has it: a test may start this executable again, to replay in it. */
__attribute__((weak)) int tp_child_serve(struct tp_err *err);

static int run(int argc, char **argv)
{
    const char *name = name_of(argv[0]);
    if (tp_child_serve && strcmp(name, "__child") == 0)
        return tp_child_serve(NULL);
    for (const struct own_main *m = own_mains; m->name; m++)
        if (strcmp(m->name, name) == 0)
            return m->alone ? m->alone() : m->asked(argc, argv);
    return run_tests_of(name);
}

static int usage(void)
{
    const char *last = __FILE__;
    fprintf(stderr, "usage: unit_ROOM TEST; there are:\n");
    for (const struct own_main *m = own_mains; m->name; m++)
        fprintf(stderr, "  %s\n", m->name);
    for (const struct tests_of_file *const *t = first_tests; t < end_of_tests; last = (*t++)->file)
        if (strcmp((*t)->file, last) != 0)
            fprintf(stderr, "  %.*s\n", (int)strcspn(name_of((*t)->file), "."),
                    name_of((*t)->file));
    return 2;
}

int main(int argc, char **argv)
{
    int rc = argc > 0 ? run(argc, argv) : -1;
    if (rc == -1 && argc > 1)
        rc = run(argc - 1, argv + 1);
    return rc == -1 ? usage() : rc;
}
