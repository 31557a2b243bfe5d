#include "tests/emulator/runtime/settings.hpp"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "tests/emulator/runtime/errors.hpp"

namespace tutti::emulated {
namespace {

constexpr int kMostGpus = 64;

/// The environment's number, which must be one within the bounds.
long long number(const char* name, long long otherwise, long long least, long long most) {
  const char* text = std::getenv(name);
  if (!text) return otherwise;
  const std::string_view all(text);
  long long value = 0;
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), value);
  if (error != std::errc{} || end != all.data() + all.size() || value < least || value > most)
    give_up(fmt::format("{} is '{}': give a number from {} to {}", name, all, least, most));
  return value;
}

std::string uuid_text(const std::string& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid[i]));
  }
  return text;
}

/// The GPU that one entry of CUDA_VISIBLE_DEVICES names: a number, or the beginning of one UUID; -1 for none.
int named_gpu(std::string_view entry, int gpus) {
  if (entry.substr(0, 4) == "GPU-") {
    int found = -1;
    for (int gpu = 0; gpu < gpus; ++gpu)
      if (uuid_text(uuid_of(gpu)).starts_with(entry)) {
        if (found >= 0) return -1;
        found = gpu;
      }
    return found;
  }
  int gpu = -1;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), gpu);
  return error == std::errc{} && end == entry.data() + entry.size() && gpu < gpus ? gpu : -1;
}

/// As CUDA reads it: what comes after an entry that names no GPU is not seen; a GPU named twice means none at all.
std::vector<int> visible_gpus(int gpus) {
  std::vector<int> visible;
  const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!text) {
    for (int gpu = 0; gpu < gpus; ++gpu) visible.push_back(gpu);
    return visible;
  }
  for (std::string_view rest(text); !rest.empty();) {
    const std::size_t comma = rest.find(',');
    std::string_view entry = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    while (!entry.empty() && std::isspace(static_cast<unsigned char>(entry.front()))) entry.remove_prefix(1);
    while (!entry.empty() && std::isspace(static_cast<unsigned char>(entry.back()))) entry.remove_suffix(1);
    const int gpu = named_gpu(entry, gpus);
    if (gpu < 0) break;
    for (int other : visible)
      if (other == gpu) return {};
    visible.push_back(gpu);
  }
  return visible;
}

Settings read() {
  Settings settings;
  settings.gpus = static_cast<int>(number("TUTTI_EMULATED_GPUS", settings.gpus, 0, kMostGpus));
  settings.multiprocessors = static_cast<int>(number("TUTTI_EMULATED_SMS", settings.multiprocessors, 1, 1024));
  const int architecture = static_cast<int>(number("TUTTI_EMULATED_ARCHITECTURE", 90, 75, 129));
  settings.major = architecture / 10;
  settings.minor = architecture % 10;
  const auto mebibytes = number("TUTTI_EMULATED_MEMORY", static_cast<long long>(settings.memory >> 20), 1, 1 << 18);
  settings.memory = static_cast<std::size_t>(mebibytes) << 20;
  settings.peer_access = number("TUTTI_EMULATED_PEER_ACCESS", 1, 0, 1) == 1;
  settings.quiet = std::getenv("TUTTI_EMULATION_QUIET") != nullptr;
  settings.visible = visible_gpus(settings.gpus);
  return settings;
}

}  // namespace

const Settings& settings() {
  static const Settings* const all = new Settings(read());
  return *all;
}

long rank_of_process() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "TUTTI_RANK"})
    if (const char* const text = std::getenv(name)) return std::atol(text);
  return 0;
}

std::string uuid_of(int gpu) {
  // Version 8 of RFC 9562: what is in it is up to who makes it.
  std::string uuid = "tutti-emulated--";
  uuid[6] = static_cast<char>(0x80);
  uuid[8] = static_cast<char>(0x80);
  uuid[15] = static_cast<char>(gpu);
  return uuid;
}

}  // namespace tutti::emulated
