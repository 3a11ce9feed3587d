/* SHA-256 through libcrypto's EVP interface. */
#include "traces/lower/hash.h"

#include <openssl/evp.h>
#include <stdlib.h>

struct tp_hash {
    EVP_MD_CTX *md;
    bool failed;
};

int tp_hash_new(struct tp_hash **out, struct tp_err *err)
{
    struct tp_hash *h = calloc(1, sizeof *h);
    if (!h)
        return tp_fail(err, TP_ENOMEM, "out of memory for the hash of the program");
    h->md = EVP_MD_CTX_new();
    if (!h->md || EVP_DigestInit_ex(h->md, EVP_sha256(), NULL) != 1) {
        tp_hash_free(h);
        return tp_fail(err, TP_EUNSUP, "libcrypto has no SHA-256 here");
    }
    *out = h;
    return TP_OK;
}

void tp_hash_free(struct tp_hash *h)
{
    if (!h)
        return;
    EVP_MD_CTX_free(h->md);
    free(h);
}

void tp_hash_add(void *ctx, const void *data, size_t size)
{
    struct tp_hash *h = ctx;
    if (EVP_DigestUpdate(h->md, data, size) != 1)
        h->failed = true;
}

int tp_hash_finish(struct tp_hash *h, uint8_t *digest, struct tp_err *err)
{
    unsigned size = 0;
    if (h->failed || EVP_DigestFinal_ex(h->md, digest, &size) != 1 || size != TP_HASH_SIZE)
        return tp_fail(err, TP_EBROKEN, "libcrypto failed to compute a SHA-256");
    return TP_OK;
}
