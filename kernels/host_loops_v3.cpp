// The loops of kernels/host_loops.hpp for x86-64-v3.
#define TUTTI_LOOPS loops_v3
#define TUTTI_LOOPS_NAME "x86-64-v3"
#include "kernels/host_loops.inl"
