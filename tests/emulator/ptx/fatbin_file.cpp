// Containers in files: nvcc puts them into a section of an ELF file of their own.
#include <elf.h>
#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tests/emulator/ptx/fatbin.hpp"
#include "tests/emulator/ptx/fatbin_decompress.hpp"

namespace tutti::emulator {
namespace {

constexpr std::string_view kArchive = "!<arch>\n", kThinArchive = "!<thin>\n";

struct MemberHeader {
  char name[16], date[12], user[6], group[6], mode[8], bytes[10], end[2];
};
static_assert(sizeof(MemberHeader) == 60);

template <class Header>
Header read(std::string_view from, std::uint64_t at) {
  if (at > from.size() || from.size() - at < sizeof(Header)) throw std::runtime_error("the file ends too early");
  Header header;
  std::memcpy(&header, from.data() + at, sizeof(Header));
  return header;
}

std::string_view part(std::string_view from, std::uint64_t at, std::uint64_t bytes) {
  if (at > from.size() || from.size() - at < bytes) throw std::runtime_error("the file ends too early");
  return from.substr(static_cast<std::size_t>(at), static_cast<std::size_t>(bytes));
}

/// Containers one after the other, with zeros between them.
void add_containers(std::string_view section, std::vector<EmbeddedCode>& found) {
  while (true) {
    const std::size_t begin = section.find_first_not_of('\0');
    if (begin == std::string_view::npos) return;
    section.remove_prefix(begin);
    const std::size_t bytes = container_bytes(section);
    for (EmbeddedCode& code : code_in_container(section.data(), bytes)) found.push_back(std::move(code));
    section.remove_prefix(bytes);
  }
}

bool is_elf(std::string_view file) { return file.starts_with(std::string_view(ELFMAG, SELFMAG)); }

void add_elf(std::string_view file, std::vector<EmbeddedCode>& found) {
  const auto header = read<Elf64_Ehdr>(file, 0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    throw std::runtime_error("an ELF file that is not of 64 bits, low bytes first");
  if (header.e_shnum == 0) return;
  const auto section = [&](std::uint64_t index) {
    return read<Elf64_Shdr>(file, header.e_shoff + index * header.e_shentsize);
  };
  const Elf64_Shdr strings = section(header.e_shstrndx);
  const std::string_view names = part(file, strings.sh_offset, strings.sh_size);
  for (std::uint64_t k = 0; k < header.e_shnum; ++k) {
    const Elf64_Shdr each = section(k);
    const std::string_view rest =
        part(names, each.sh_name, names.size() - std::min<std::size_t>(each.sh_name, names.size()));
    const std::string_view name = rest.substr(0, rest.find('\0'));
    if (name == ".nv_fatbin" || name == "__nv_relfatbin")
      add_containers(part(file, each.sh_offset, each.sh_size), found);
  }
}

void add_archive(std::string_view file, std::vector<EmbeddedCode>& found) {
  for (std::uint64_t at = kArchive.size(); at < file.size();) {
    const auto header = read<MemberHeader>(file, at);
    std::uint64_t bytes = 0;
    const auto [end, error] = std::from_chars(header.bytes, header.bytes + sizeof header.bytes, bytes);
    if (error != std::errc{} || end == header.bytes) throw std::runtime_error("an archive with a damaged member");
    const std::string_view member = part(file, at + sizeof header, bytes);
    if (is_elf(member)) add_elf(member, found);
    at += sizeof header + bytes + bytes % 2;
  }
}

}  // namespace

std::vector<EmbeddedCode> code_in_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error(fmt::format("{}: cannot be read", path));
  const std::string file{std::istreambuf_iterator<char>(stream), {}};
  std::vector<EmbeddedCode> found;
  try {
    if (file.starts_with(kThinArchive)) throw std::runtime_error("a thin archive: give its members");
    if (is_elf(file))
      add_elf(file, found);
    else if (file.starts_with(kArchive))
      add_archive(file, found);
    else
      add_containers(file, found);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format("{}: {}", path, error.what()));
  }
  return found;
}

}  // namespace tutti::emulator
