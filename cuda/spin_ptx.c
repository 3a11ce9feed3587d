/* Embeds spin.ptx, which ends with a 0. */
#include "cuda/cuda_source.h"

__asm__(".section .rodata\n"
        ".globl tp_cuda_spin_ptx\n"
        ".hidden tp_cuda_spin_ptx\n"
        "tp_cuda_spin_ptx:\n"
        ".incbin \"" TAPOOL_SPIN_PTX "\"\n"
        ".byte 0\n"
        ".previous\n");
