#include "tests/emulator/runtime/host_view.hpp"

#include "tests/emulator/runtime/memory.hpp"

extern "C" void* tutti_emulated_host_view(const void* address, unsigned long bytes) {
  using namespace tutti::emulated;
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  return reachable(place, bytes) ? AddressSpace::instance().host_view(place) : nullptr;
}
