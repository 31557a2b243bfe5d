#include "collectives/deadline.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "collectives/error.hpp"

namespace tutti {

double default_timeout_s() {
  const char* text = std::getenv("TUTTI_TIMEOUT");
  if (text == nullptr || *text == '\0') return 600;
  constexpr double kYear = 366.0 * 86400;  // keeps the sum with a time point representable
  char* end = nullptr;
  double seconds = std::strtod(text, &end);
  if (*end != '\0' || !(seconds > 0) || seconds > kYear) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("TUTTI_TIMEOUT is '{}': give seconds, more than 0 and at most {}", text, kYear));
  }
  return seconds;
}

}  // namespace tutti
