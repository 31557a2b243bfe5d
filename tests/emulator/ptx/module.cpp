#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "tests/emulator/ptx/module_scan.hpp"

namespace tutti::emulator {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

struct Module::Parts {
  struct Parsed {
    std::mutex lock;
    std::unique_ptr<Function> function;
  };

  std::string text, name;
  ModuleScan scan;
  std::vector<std::string> entries, functions;
  std::deque<Parsed> parsed;  ///< as ModuleScan::functions
  std::once_flag lines_once;
  std::vector<std::size_t> lines;  ///< begins of the text's lines

  std::string_view line(std::uint32_t number) {
    std::call_once(lines_once, [this] {
      lines.push_back(0);
      for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1))
        lines.push_back(at + 1);
      lines.push_back(text.size() + 1);
    });
    if (number == 0 || number + std::size_t{1} > lines.size()) return {};
    return trimmed(std::string_view(text).substr(lines[number - 1], lines[number] - 1 - lines[number - 1]));
  }

  std::runtime_error error(const TextError& at) {
    return std::runtime_error(fmt::format("{}:{}: {}: {}", name, at.line, at.what(), line(at.line).substr(0, 200)));
  }
};

Module::Module(std::string text, std::string name) : parts_(std::make_unique<Parts>()) {
  parts_->text = std::move(text);
  parts_->name = std::move(name);
  try {
    parts_->scan = scan_module(parts_->text);
  } catch (const TextError& wrong) {
    throw parts_->error(wrong);
  }
  for (const auto& [header, body] : parts_->scan.functions) {
    parts_->functions.push_back(header.function.name);
    if (header.function.entry) parts_->entries.push_back(header.function.name);
    parts_->parsed.emplace_back();
  }
}

Module::~Module() = default;

const std::string& Module::name() const { return parts_->name; }
const std::string& Module::target() const { return parts_->scan.target; }
const std::string& Module::version() const { return parts_->scan.version; }
const std::vector<Variable>& Module::variables() const { return parts_->scan.variables; }
const std::vector<std::string>& Module::files() const { return parts_->scan.files; }
const std::vector<std::string>& Module::entries() const { return parts_->entries; }
const std::vector<std::string>& Module::functions() const { return parts_->functions; }

bool Module::contains(std::string_view function) const {
  const auto found = parts_->scan.names.symbols.find(function);
  return found != parts_->scan.names.symbols.end() && found->second.of == Constant::Of::function;
}

const Function& Module::function(std::string_view name) const {
  if (!contains(name)) throw std::runtime_error(fmt::format("{}: there is no function '{}'", parts_->name, name));
  const std::uint32_t index = parts_->scan.names.symbols.find(name)->second.index;
  const ModuleScan::FunctionText& from = parts_->scan.functions[index];
  Parts::Parsed& parsed = parts_->parsed[index];
  const std::lock_guard<std::mutex> guard(parsed.lock);
  if (parsed.function) return *parsed.function;
  auto made = std::make_unique<Function>(from.header.function);
  try {
    if (made->defined) parse_body(parts_->scan.names, from.header.names, from.body, *made);
  } catch (const TextError& wrong) {
    throw parts_->error(wrong);
  }
  parsed.function = std::move(made);
  return *parsed.function;
}

std::string Module::source(const Function& function, const Instruction& instruction) const {
  if (instruction.place == 0 || instruction.place >= function.places.size()) return "unknown";
  std::string chain;
  for (const Place::At& at : function.places[instruction.place].at) {
    if (!chain.empty()) chain += " in ";
    const bool known = at.file < files().size() && !files()[at.file].empty();
    chain += fmt::format("{}:{}", known ? base_name(files()[at.file]) : "?", at.line);
  }
  return chain;
}

std::string Module::text(const Instruction& instruction) const { return std::string(parts_->line(instruction.line)); }

}  // namespace tutti::emulator
