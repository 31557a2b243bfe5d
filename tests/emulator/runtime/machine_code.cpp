// Reads the section ".nv.info" of a cubin, an ELF file: a list of attributes, of which two matter here. Both name a
// function by its symbol.
#include "tests/emulator/runtime/machine_code.hpp"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace tutti::emulated {
namespace {

constexpr std::uint32_t kInfoSection = 0x70000000;
constexpr std::uint8_t kFormatSized = 4;  // a 16-bit size, then that many bytes; the others are 4 bytes in all
constexpr std::uint8_t kRegisterCount = 0x2f, kFrameSize = 0x11;

class Cubin {
 public:
  explicit Cubin(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  std::optional<T> at(std::size_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  std::vector<Elf64_Shdr> sections() const {
    std::vector<Elf64_Shdr> all;
    const auto header = at<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return all;
    for (std::size_t i = 0; i < header->e_shnum; ++i) {
      const auto section = at<Elf64_Shdr>(header->e_shoff + i * header->e_shentsize);
      if (!section) return {};
      all.push_back(*section);
    }
    return all;
  }

  std::string symbol(const std::vector<Elf64_Shdr>& sections, const Elf64_Shdr& table, std::uint32_t index) const {
    const auto found = at<Elf64_Sym>(table.sh_offset + std::size_t{index} * sizeof(Elf64_Sym));
    if (!found || table.sh_link >= sections.size()) return {};
    const std::size_t begin = sections[table.sh_link].sh_offset + found->st_name;
    if (begin >= bytes_.size()) return {};
    return std::string(bytes_.substr(begin, bytes_.find('\0', begin) - begin));
  }

 private:
  std::string_view bytes_;
};

}  // namespace

std::map<std::string, MachineCodeFacts> facts_in(const std::string& cubin) {
  const Cubin file(cubin);
  const std::vector<Elf64_Shdr> sections = file.sections();
  std::map<std::string, MachineCodeFacts> facts;
  for (const Elf64_Shdr& section : sections) {
    // That of a single function refers to its code; that of all refers to nothing.
    if (section.sh_type != kInfoSection || section.sh_info != 0 || section.sh_link >= sections.size()) continue;
    const std::size_t end = section.sh_offset + section.sh_size;
    for (std::size_t at = section.sh_offset; at + 4 <= end;) {
      const auto format = file.at<std::uint8_t>(at), attribute = file.at<std::uint8_t>(at + 1);
      const auto size = file.at<std::uint16_t>(at + 2);
      if (!format || !attribute || !size) return {};
      const bool sized = *format == kFormatSized;
      const auto symbol = file.at<std::uint32_t>(at + 4), value = file.at<std::uint32_t>(at + 8);
      if (sized && *size == 8 && symbol && value) {
        MachineCodeFacts& mine = facts[file.symbol(sections, sections[section.sh_link], *symbol)];
        if (*attribute == kRegisterCount) mine.registers = static_cast<int>(*value);
        if (*attribute == kFrameSize) mine.local_bytes = *value;
      }
      at += sized ? 4 + std::size_t{*size} : 4;
    }
  }
  return facts;
}

}  // namespace tutti::emulated
