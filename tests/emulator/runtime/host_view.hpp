#pragma once

// For other stand-ins, such as that of cuBLAS, which do on the host what a device would do: in functions that a stream
// calls (cudaLaunchHostFunc), they find memory here.

/// Where the host finds what the program calls `address`; null unless all of the bytes are memory that is there.
extern "C" void* tutti_emulated_host_view(const void* address, unsigned long bytes);
