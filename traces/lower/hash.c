/* SHA-256 by nettle: it is there at once, where OpenSSL takes longer to start than most replays. */
#include "traces/lower/hash.h"

#include <nettle/sha2.h>
#include <nettle/version.h>
#include <stdlib.h>

static_assert(TP_HASH_SIZE == SHA256_DIGEST_SIZE, "the hash is a whole SHA-256");

struct tp_hash {
    struct sha256_ctx sha;
};

int tp_hash_new(struct tp_hash **out, struct tp_err *err)
{
    struct tp_hash *h = malloc(sizeof *h);
    if (!h)
        return tp_fail(err, TP_ENOMEM, "out of memory for the hash of the program");
    sha256_init(&h->sha);
    *out = h;
    return TP_OK;
}

void tp_hash_free(struct tp_hash *h)
{
    free(h);
}

void tp_hash_add(void *ctx, const void *data, size_t size)
{
    struct tp_hash *h = ctx;
    sha256_update(&h->sha, size, data);
}

void tp_hash_finish(struct tp_hash *h, uint8_t *digest)
{
#if NETTLE_VERSION_MAJOR >= 4 /* a digest has one size there */
    sha256_digest(&h->sha, digest);
#else
    sha256_digest(&h->sha, TP_HASH_SIZE, digest);
#endif
}
