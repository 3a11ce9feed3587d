/* See forked.h. */
#include "cmd/jobs/forked.h"

#include "cmd/jobs/left_behind.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int tp_forked_open(struct tp_forked *f, size_t size, struct tp_err *err)
{
    void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *f = (struct tp_forked){.size = size};
    if (shared == MAP_FAILED)
        return tp_fail(err, TP_EIO, "shared memory for a child process: %s", strerror(errno));
    f->shared = shared;
    return TP_OK;
}

int tp_forked_start(struct tp_forked *f, void (*run)(void *ctx, void *shared), void *ctx,
                    struct tp_err *err)
{
    fflush(NULL); /* code that calls exit there would write it a second time */
    tp_left_behind_adopt();
    pid_t parent = getpid();
    f->pid = fork();
    if (f->pid > 0) {
        tp_child_begun(f->pid);
        return TP_OK;
    }
    if (f->pid < 0)
        return tp_fail(err, TP_EIO, "a child process cannot start: %s", strerror(errno));
    if (!tp_child_begin(parent))
        _exit(1);
    tp_stdout_aside();
    run(ctx, f->shared);
    _exit(0); /* exit would write the parent's buffered output a second time */
}

void tp_forked_close(struct tp_forked *f)
{
    munmap(f->shared, f->size);
    *f = (struct tp_forked){0};
}

struct forked_call {
    int (*run)(void *ctx, struct tp_err *err);
    void *ctx;
};

static void answer(void *ctx, void *shared)
{
    const struct forked_call *c = ctx;
    struct tp_err err = {0};
    int status = c->run(c->ctx, &err);
    tp_answer_give(shared, status, &err, NULL, 0);
}

int tp_forked_run(int (*run)(void *ctx, struct tp_err *err), void *ctx,
                  const struct tp_child_wait *wait, struct tp_forked_end *end, struct tp_err *err)
{
    struct tp_forked f;
    struct forked_call call = {run, ctx};
    int status = tp_forked_open(&f, sizeof end->answer, err);
    if (status)
        return status;
    status = tp_forked_start(&f, answer, &call, err);
    if (!status) {
        end->how = 0;
        end->waited = tp_child_await(f.pid, wait, &end->how);
        end->torn = !tp_answer_take(f.shared, NULL, 0, &end->answer);
    }
    tp_forked_close(&f);
    return status;
}
