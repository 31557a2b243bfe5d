// What the interpreter does that no memory has a part in: clocks, and functions that CUDA provides.
#include "tests/emulator/machine/machine.hpp"

#include <cstdio>

namespace tutti::emulator {
namespace {

template <class T>
T argument(std::span<const std::byte> frame, const CallSite& call, std::size_t index) {
  T value{};
  std::memcpy(&value, frame.data() + call.arguments.at(index).offset, sizeof value);
  return value;
}

/// printf with the arguments in a buffer, as vprintf on a GPU gets them: each aligned to its size.
std::string formatted(const char* format, const std::byte* arguments) {
  std::string text;
  std::size_t at = 0;
  const auto next = [&](auto& value) {
    at = (at + sizeof value - 1) / sizeof value * sizeof value;
    std::memcpy(&value, arguments + at, sizeof value);
    at += sizeof value;
  };
  for (const char* c = format; *c != 0; ++c) {
    if (*c != '%') {
      text += *c;
      continue;
    }
    std::string item = "%";
    bool wide = false;
    for (++c; *c != 0 && !std::strchr("diouxXcsfFeEgGaAp%", *c); ++c) {
      wide |= *c == 'l' || *c == 'z' || *c == 'j' || *c == 't';
      if (!std::strchr("lzjth", *c)) item += *c;
    }
    if (*c == 0) break;
    char line[512];
    if (*c == '%') {
      text += '%';
      continue;
    }
    if (std::strchr("fFeEgGaA", *c)) {
      double value;
      next(value);
      item += *c;
      std::snprintf(line, sizeof line, item.c_str(), value);
    } else if (*c == 's' || *c == 'p') {
      const void* value;
      next(value);
      item += *c;
      std::snprintf(line, sizeof line, item.c_str(), value);
    } else if (wide) {
      long long value;
      next(value);
      item += "ll";
      item += *c;
      std::snprintf(line, sizeof line, item.c_str(), value);
    } else {
      int value;
      next(value);
      item += *c;
      std::snprintf(line, sizeof line, item.c_str(), value);
    }
    text += line;
  }
  return text;
}

}  // namespace

std::uint64_t call_provided(Thread& thread, const CallSite& call, std::span<const std::byte> frame) {
  if (call.callee == "vprintf") {
    const std::string text =
        formatted(argument<const char*>(frame, call, 0), argument<const std::byte*>(frame, call, 1));
    std::fwrite(text.data(), 1, text.size(), stdout);
    return text.size();
  }
  if (call.callee == "__assertfail")
    throw AssertionFailed(thread, argument<const char*>(frame, call, 0), argument<const char*>(frame, call, 1),
                          argument<std::uint32_t>(frame, call, 2), argument<const char*>(frame, call, 3));
  throw Fault(thread, fmt::format("calls {}, which the emulator does not have", call.callee));
}

std::uint64_t read_clock(Clock clock, std::uint64_t executed) {
  const auto now = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
  switch (clock) {
    case Clock::clock: return static_cast<std::uint32_t>(executed);
    case Clock::clock_hi: return executed >> 32;
    case Clock::clock64: return executed;
    case Clock::global_timer: return now;
    case Clock::global_timer_lo: return static_cast<std::uint32_t>(now);
    case Clock::global_timer_hi: return now >> 32;
  }
  return 0;
}

}  // namespace tutti::emulator
