#include "tests/emulator/ptx/fatbin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "tests/emulator/ptx/fatbin_decompress.hpp"

namespace tutti::emulator {
namespace {

// The layout is not documented; it is what nvcc 12 and 13 write, and tests read back what nvcc makes.
struct ContainerHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;  ///< behind the header
};
static_assert(sizeof(ContainerHeader) == 16);

struct EntryHeader {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;             ///< behind the header, with padding
  std::uint32_t compressed_bytes;  ///< without padding
  std::uint32_t options;
  std::uint16_t minor, major;
  std::uint32_t architecture;
  std::uint32_t name, name_bytes;
  std::uint64_t flags;
  std::uint64_t unused;
  std::uint64_t decompressed_bytes;
};
static_assert(sizeof(EntryHeader) == 64);

constexpr std::uint16_t kPtx = 1, kCubin = 2;
constexpr std::uint64_t kLz4 = 0x2000, kZstd = 0x8000;

template <class Header>
Header read(std::string_view from, std::size_t at, std::string_view what) {
  if (at > from.size() || from.size() - at < sizeof(Header))
    throw std::runtime_error(fmt::format("embedded GPU code ends inside its {}", what));
  Header header;
  std::memcpy(&header, from.data() + at, sizeof(Header));
  return header;
}

ContainerHeader read_container(std::string_view from) {
  const auto header = read<ContainerHeader>(from, 0, "header");
  if (header.magic != kFatbinMagic)
    throw std::runtime_error(fmt::format("embedded GPU code begins with {:#x}, not {:#x}", header.magic, kFatbinMagic));
  if (header.version != 1 || header.header_bytes < sizeof(ContainerHeader))
    throw std::runtime_error(fmt::format("embedded GPU code of the unknown version {}", header.version));
  return header;
}

std::string contents(const EntryHeader& header, std::string_view stored) {
  if (header.compressed_bytes == 0) return std::string(stored);
  if (header.compressed_bytes > stored.size())
    throw std::runtime_error("embedded GPU code has more compressed bytes than bytes");
  const std::string_view compressed = stored.substr(0, header.compressed_bytes);
  if ((header.flags & kZstd) != 0) return decompress_zstd(compressed, header.decompressed_bytes);
  if ((header.flags & kLz4) != 0) return decompress_lz4(compressed, header.decompressed_bytes);
  throw std::runtime_error(
      fmt::format("embedded GPU code is compressed in an unknown way (flags {:#x}): build it with nvcc 12 or 13, or "
                  "with --no-compress",
                  header.flags));
}

EmbeddedCode read_entry(const EntryHeader& header, std::string_view stored) {
  EmbeddedCode code{EmbeddedCode::Kind::cubin, static_cast<int>(header.architecture), contents(header, stored)};
  if (header.kind == kCubin) return code;
  code.kind = EmbeddedCode::Kind::ptx;
  code.bytes.resize(code.bytes.find_last_not_of('\0') + 1);  // it ends with a zero, and padding
  return code;
}

}  // namespace

std::size_t container_bytes(std::string_view from) {
  const ContainerHeader header = read_container(from);
  if (header.bytes > from.size() - std::min<std::size_t>(from.size(), header.header_bytes))
    throw std::runtime_error(
        fmt::format("embedded GPU code ends after {} of {} bytes", from.size(), header.bytes + header.header_bytes));
  return header.header_bytes + static_cast<std::size_t>(header.bytes);
}

std::vector<EmbeddedCode> code_in_container(const void* begin, std::size_t most) {
  const std::string_view readable(static_cast<const char*>(begin), std::min(most, ~std::size_t{0} / 4));
  const std::string_view container = readable.substr(0, container_bytes(readable));
  std::vector<EmbeddedCode> found;
  for (std::size_t at = read_container(container).header_bytes; at < container.size();) {
    const auto header = read<EntryHeader>(container, at, "header of an entry");
    const std::size_t left = container.size() - at;
    if (header.header_bytes < sizeof(EntryHeader) || header.header_bytes > left ||
        header.bytes > left - header.header_bytes)
      throw std::runtime_error(
          fmt::format("embedded GPU code has an entry at byte {} of {} that is too long", at, container.size()));
    // Others are for the linker of device code.
    if (header.kind == kPtx || header.kind == kCubin)
      found.push_back(read_entry(header, container.substr(at + header.header_bytes, header.bytes)));
    at += header.header_bytes + static_cast<std::size_t>(header.bytes);
  }
  return found;
}

const EmbeddedCode* best_ptx(const std::vector<EmbeddedCode>& code, int architecture) {
  const EmbeddedCode* best = nullptr;
  for (const EmbeddedCode& each : code)
    if (each.kind == EmbeddedCode::Kind::ptx && each.architecture <= architecture &&
        (!best || best->architecture < each.architecture))
      best = &each;
  return best;
}

}  // namespace tutti::emulator
