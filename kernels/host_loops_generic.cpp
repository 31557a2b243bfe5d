// The loops of kernels/host_loops.hpp for machines other than x86-64.
#define TUTTI_LOOPS loops_generic
#define TUTTI_LOOPS_NAME "generic"
#include "kernels/host_loops.inl"
