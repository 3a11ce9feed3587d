// The kernel of `--occupy spin`: one thread that is busy with a block for a given time, and touches it, so
// that what is freed too early is written to. nvcc makes a fatbin of it, which is embedded.
//
// Known weakness: %globaltimer steps by up to a microsecond, and a stream is busy that much longer.

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
