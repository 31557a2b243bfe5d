// The loops of kernels/host_loops.hpp for x86-64-v4.
#define TUTTI_LOOPS loops_v4
#define TUTTI_LOOPS_NAME "x86-64-v4"
#include "kernels/host_loops.inl"
