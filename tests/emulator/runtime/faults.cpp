#include "tests/emulator/runtime/faults.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "tests/emulator/runtime/errors.hpp"
#include "tests/emulator/runtime/settings.hpp"

namespace tutti::emulated {
namespace {

/// One kind of fault: when it comes (0: never), and how often the place was passed.
struct Planted {
  std::string_view name;
  long at = 0;
  std::atomic<long> passed{0};

  bool now() { return at != 0 && ++passed == at; }
  bool from_now_on() { return at != 0 && ++passed >= at; }
};

struct Faults {
  Planted calls[4]{{"allocation"}, {"ipc_open"}, {"launch"}, {"copy"}};  ///< by FaultPoint
  Planted vanish{"vanish"}, die{"die"}, slow{"slow"};

  Planted* find(std::string_view name) {
    for (Planted* each : {&calls[0], &calls[1], &calls[2], &calls[3], &vanish, &die, &slow})
      if (each->name == name) return each;
    return nullptr;
  }
};

/// The whole text as a number; -1 if it is none.
long number(std::string_view text) {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= 0 ? value : -1;
}

/// Reads one [RANK/]WHAT:N; false if it is none.
bool read_entry(std::string_view entry, Faults& faults) {
  bool here = true;
  if (const std::size_t slash = entry.find('/'); slash != std::string_view::npos) {
    const long rank = number(entry.substr(0, slash));
    if (rank < 0) return false;
    here = rank == rank_of_process();
    entry.remove_prefix(slash + 1);
  }
  const std::size_t colon = entry.find(':');
  if (colon == std::string_view::npos) return false;
  Planted* const planted = faults.find(entry.substr(0, colon));
  const long at = number(entry.substr(colon + 1));
  if (!planted || at < 1) return false;
  if (here) planted->at = at;
  return true;
}

Faults* read() {
  auto* faults = new Faults;
  const char* text = std::getenv("TUTTI_EMULATED_FAULTS");
  for (std::string_view rest = text ? text : ""; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view entry = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    if (!read_entry(entry, *faults))
      give_up(
          fmt::format("TUTTI_EMULATED_FAULTS has '{}': give [RANK/]WHAT:N, WHAT being allocation, ipc_open, launch, "
                      "copy, vanish, die or slow, and N from 1 on",
                      entry));
  }
  return faults;
}

Faults& faults() {
  static Faults* const all = read();
  return *all;
}

}  // namespace

void count(FaultPoint point) {
  constexpr cudaError_t kErrors[] = {cudaErrorMemoryAllocation, cudaErrorMapBufferObjectFailed,
                                     cudaErrorLaunchOutOfResources, cudaErrorInvalidValue};
  const auto which = static_cast<std::size_t>(point);
  if (faults().calls[which].now()) throw Failure(kErrors[which]);
}

bool faults_of_stores() {
  const Faults& all = faults();
  return all.vanish.at != 0 || all.die.at != 0 || all.slow.at != 0;
}

bool store_into_peer(bool strong) {
  Faults& all = faults();
  if (strong && all.die.now()) raise(SIGKILL);
  if (strong && all.slow.at != 0) std::this_thread::sleep_for(std::chrono::microseconds(all.slow.at));
  return !all.vanish.from_now_on();
}

}  // namespace tutti::emulated
