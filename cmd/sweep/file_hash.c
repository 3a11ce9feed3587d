/* See file_hash.h. */
#include "cmd/sweep/file_hash.h"

#include "traces/lower/hash.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void write_digits(struct tp_hash *hash, char out[TP_FILE_HASH + 1])
{
    uint8_t digest[TP_HASH_SIZE];
    tp_hash_finish(hash, digest);
    for (size_t i = 0; i < TP_FILE_HASH / 2; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

/* The NUL of each text is hashed, too: where one ends makes a difference. */
int tp_texts_hash(const char *const *texts, char out[TP_FILE_HASH + 1], struct tp_err *err)
{
    struct tp_hash *hash = NULL;
    int status = tp_hash_new(&hash, err);
    if (status)
        return status;
    for (size_t i = 0; texts[i]; i++)
        tp_hash_add(hash, texts[i], strlen(texts[i]) + 1);
    write_digits(hash, out);
    tp_hash_free(hash);
    return TP_OK;
}

int tp_file_hash(const char *path, char out[TP_FILE_HASH + 1], struct tp_err *err)
{
    char bytes[1 << 16];
    struct tp_hash *hash = NULL;
    FILE *file = fopen(path, "re");
    int status =
        file ? tp_hash_new(&hash, err) : tp_fail(err, TP_EIO, "%s: %s", path, strerror(errno));
    size_t got;
    while (!status && (got = fread(bytes, 1, sizeof bytes, file)) > 0)
        tp_hash_add(hash, bytes, got);
    if (!status && ferror(file))
        status = tp_fail(err, TP_EIO, "%s: %s", path, strerror(errno));
    if (!status)
        write_digits(hash, out);
    tp_hash_free(hash);
    if (file)
        fclose(file);
    return status;
}
