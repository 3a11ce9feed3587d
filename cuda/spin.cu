// The kernel of `--occupy spin`: one thread is busy for a given time and then writes to the block, so that a
// block that was freed too early is written to. nvcc compiles it to a fatbin, which is embedded.
//
// Known weakness: %globaltimer advances in steps of up to a microsecond, so a stream may be busy that much longer.

static __device__ unsigned long long now_ns()
{
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

extern "C" __global__ void tapool_spin(unsigned char *block, unsigned long long bytes, unsigned long long ns)
{
    unsigned long long begin = now_ns();
    while (now_ns() - begin < ns)
        ;
    for (unsigned long long i = 0; i < 8 && i < bytes; i++)
        ((volatile unsigned char *)block)[i] = (unsigned char)ns;
}
