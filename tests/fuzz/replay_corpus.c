/* usage: replay_corpus DIRECTORY...
 *
 * Runs a fuzz target on every file of the directories given, for builds without libFuzzer: what the
 * fuzzer once found stays found. Fails when a directory cannot be read or holds nothing. */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FILE_MAX ((size_t)16 << 20)

/* 1 when the file was replayed. The copy has exactly its size, so that a sanitizer sees its end. */
static int replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *whole = malloc(FILE_MAX);
    size_t size = f && whole ? fread(whole, 1, FILE_MAX, f) : 0;
    int done = f && whole && !ferror(f);
    uint8_t *exact = NULL;
    if (done)
        exact = malloc(size ? size : 1);
    if (exact) {
        memcpy(exact, whole, size);
        LLVMFuzzerTestOneInput(exact, size);
    }
    done = exact != NULL;
    free(exact);
    free(whole);
    if (f)
        fclose(f);
    return done;
}

static int replay_directory(const char *path, unsigned *files)
{
    DIR *dir = opendir(path);
    unsigned before = *files;
    if (!dir) {
        fprintf(stderr, "replay_corpus: %s cannot be read\n", path);
        return 1;
    }
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        char file[4096];
        if (e->d_name[0] == '.')
            continue;
        int n = snprintf(file, sizeof file, "%s/%s", path, e->d_name);
        if (n < 0 || (size_t)n >= sizeof file || !replay_file(file)) {
            fprintf(stderr, "replay_corpus: %s/%s cannot be read\n", path, e->d_name);
            closedir(dir);
            return 1;
        }
        ++*files;
    }
    closedir(dir);
    if (*files == before)
        fprintf(stderr, "replay_corpus: %s holds no files\n", path);
    return *files == before;
}

int main(int argc, char **argv)
{
    unsigned files = 0;
    int failed = argc < 2;
    for (int i = 1; i < argc && !failed; i++)
        failed = replay_directory(argv[i], &files);
    if (!failed)
        printf("%u files replayed\n", files);
    return failed;
}
