// TUTTI_EMULATED_FAULTS=POINT:N[,POINT:N...] makes the N-th call (from 1) of a kind fail in this process, with the
// error that a real device gives. POINT is allocation, ipc_open, launch or copy.
#include "tests/emulator/runtime/faults.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "tests/emulator/runtime/errors.hpp"

namespace tutti::emulated {
namespace {

struct Planted {
  std::string_view name;
  cudaError_t error;
  long at = 0;  ///< 0: never
};

std::array<Planted, 4> read() {
  std::array<Planted, 4> all{{{"allocation", cudaErrorMemoryAllocation},
                              {"ipc_open", cudaErrorMapBufferObjectFailed},
                              {"launch", cudaErrorLaunchOutOfResources},
                              {"copy", cudaErrorInvalidValue}}};
  const char* text = std::getenv("TUTTI_EMULATED_FAULTS");
  for (std::string_view rest = text ? text : ""; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view entry = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    bool understood = false;
    for (Planted& planted : all)
      if (entry.starts_with(planted.name) && entry.substr(planted.name.size()).starts_with(':')) {
        const std::string_view number = entry.substr(planted.name.size() + 1);
        const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), planted.at);
        understood = error == std::errc{} && end == number.data() + number.size() && planted.at >= 1;
      }
    if (!understood)
      give_up(fmt::format("TUTTI_EMULATED_FAULTS has '{}': give allocation:N, ipc_open:N, launch:N or copy:N", entry));
  }
  return all;
}

}  // namespace

void count(FaultPoint point) {
  static const std::array<Planted, 4> planted = read();
  static std::array<std::atomic<long>, 4> calls{};
  const auto which = static_cast<std::size_t>(point);
  if (++calls[which] == planted[which].at) throw Failure(planted[which].error);
}

}  // namespace tutti::emulated
