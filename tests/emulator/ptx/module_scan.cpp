#include "tests/emulator/ptx/module_scan.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tutti::emulator {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text), lexer_(text, 0, text.size(), 1) {}

  ModuleScan scan() {
    try {
      while (!lexer_.done()) statement();
      line_ = lexer_.line();
      if (found_.target.empty()) throw std::runtime_error("there is no .target: this is no PTX");
      plan_shared_memory();
    } catch (const TextError&) {
      throw;
    } catch (const std::runtime_error& error) {
      throw TextError(line_, error.what());
    }
    return std::move(found_);
  }

 private:
  void statement();
  void version();
  void target();
  void file();
  void section();
  void variable(Space space, bool external);
  void shared_variable(bool external);
  void function(bool entry);
  void add_symbol(std::string_view name, const Symbol& symbol);
  void plan_shared_memory();
  bool names_shared_memory(const BodyText& body) const;

  std::string_view text_;
  Lexer lexer_;
  ModuleScan found_;
  std::uint32_t line_ = 1;
};

void Scanner::statement() {
  lexer_.peek();
  line_ = lexer_.line();
  if (lexer_.take(';')) return;
  std::string_view word = lexer_.directive();
  bool external = false;
  for (; word == ".visible" || word == ".extern" || word == ".weak" || word == ".common"; word = lexer_.directive())
    external |= word == ".extern";
  if (word == ".version") return version();
  if (word == ".target") return target();
  if (word == ".file") return file();
  if (word == ".section") return section();
  if (word == ".global") return variable(Space::global, external);
  if (word == ".const") return variable(Space::constant, external);
  if (word == ".shared") return shared_variable(external);
  if (word == ".entry") return function(true);
  if (word == ".func") return function(false);
  if (word == ".address_size") {
    parse_count(lexer_, ".address_size", 64, 64);
  } else if (word == ".pragma") {
    lexer_.string();
    lexer_.expect(';');
  } else {
    throw std::runtime_error(fmt::format("unknown directive '{}'", word));
  }
}

void Scanner::version() { found_.version = lexer_.word("a version"); }

void Scanner::target() {
  do {
    const std::string_view word = lexer_.word("a target");
    if (found_.target.empty())
      found_.target = word;
    else if (word != "debug")
      throw std::runtime_error(fmt::format("unknown target '{}'", word));
  } while (lexer_.take(','));
  if (!found_.target.starts_with("sm_")) throw std::runtime_error(fmt::format("unknown target '{}'", found_.target));
}

void Scanner::file() {
  const std::uint32_t index = parse_count(lexer_, "a file", 0, 1u << 20);
  if (found_.files.size() <= index) found_.files.resize(index + 1);
  found_.files[index] = lexer_.string();
  if (lexer_.take(',')) {  // time and size
    parse_literal(lexer_);
    lexer_.expect(',');
    parse_literal(lexer_);
  }
}

void Scanner::section() {
  lexer_.word("a section");
  lexer_.expect('{');
  lexer_.skip_braces();
}

void Scanner::add_symbol(std::string_view name, const Symbol& symbol) {
  if (!found_.names.symbols.try_emplace(std::string(name), symbol).second)
    throw std::runtime_error(fmt::format("'{}' is declared twice", name));
}

void Scanner::variable(Space space, bool external) {
  Variable made = parse_variable(lexer_, space, external);
  const auto index = static_cast<std::uint32_t>(found_.variables.size());
  add_symbol(made.name, {Constant::Of::variable, space, index, {}, true});
  found_.variables.push_back(std::move(made));
}

void Scanner::shared_variable(bool external) {
  const Declaration declaration = parse_declaration(lexer_);
  lexer_.expect(';');
  if (declaration.open && !external)
    throw std::runtime_error(fmt::format("the shared variable '{}' must have a size or be .extern", declaration.name));
  auto& variables = found_.names.shared.variables;
  add_symbol(declaration.name,
             {Constant::Of::shared, Space::shared, static_cast<std::uint32_t>(variables.size()), {}, true});
  variables.push_back({declaration.name, {0, declaration.bytes, declaration.alignment}, declaration.open});
}

void Scanner::function(bool entry) {
  Header header = parse_header(lexer_, entry);
  BodyText body{};
  header.function.defined = lexer_.take('{');
  if (header.function.defined) {
    body = {text_, lexer_.position(), 0, lexer_.line()};
    body.end = lexer_.skip_braces();
  } else {
    lexer_.expect(';');
  }
  const auto known = found_.names.symbols.find(header.function.name);
  if (known == found_.names.symbols.end()) {
    const auto index = static_cast<std::uint32_t>(found_.functions.size());
    auto& made = found_.functions.emplace_back(std::move(header), body);
    found_.names.functions.push_back(&made.header.function);
    return add_symbol(made.header.function.name, {Constant::Of::function, Space::generic, index, {}, true});
  }
  if (known->second.of != Constant::Of::function)
    throw std::runtime_error(fmt::format("'{}' is declared twice", header.function.name));
  // Declared before: only the body is new.
  ModuleScan::FunctionText& declared = found_.functions[known->second.index];
  if (!header.function.defined) return;
  if (declared.header.function.defined)
    throw std::runtime_error(fmt::format("the function '{}' stands twice", header.function.name));
  declared.header = std::move(header);
  declared.body = body;
}

/// Where variables of shared memory are declared in a body: begins of the declarations, behind `.shared`.
std::vector<std::size_t> shared_declarations(const BodyText& body) {
  constexpr std::string_view kWord = ".shared", kSpaces = " \t\n\r";
  const std::string_view text = body.text.substr(0, body.end);
  std::vector<std::size_t> found;
  for (std::size_t at = text.find(kWord, body.begin); at != std::string_view::npos; at = text.find(kWord, at + 1))
    if (kSpaces.find(text[at - 1]) != std::string_view::npos &&
        kSpaces.find(text[at + kWord.size()]) != std::string_view::npos)
      found.push_back(at + kWord.size());
  return found;
}

/// Bytes of shared memory in use if the body's own begin at `bytes`.
std::uint32_t with_own(const BodyText& body, std::uint32_t bytes) {
  for (const std::size_t at : shared_declarations(body)) {
    Lexer lexer(body.text, at, body.end, body.line);
    do {
      placed(parse_declaration(lexer), bytes);
    } while (lexer.take(','));
  }
  return bytes;
}

bool Scanner::names_shared_memory(const BodyText& body) const {
  const std::string_view text = body.text.substr(body.begin, body.end - body.begin);
  const auto& variables = found_.names.shared.variables;
  return !shared_declarations(body).empty() ||
         std::any_of(variables.begin(), variables.end(), [&](const SharedPlan::Variable& variable) {
           return text.find(variable.name) != std::string_view::npos;
         });
}

void Scanner::plan_shared_memory() {
  SharedPlan& plan = found_.names.shared;
  for (const auto& [header, body] : found_.functions)
    plan.fixed |= header.function.defined && !header.function.entry && names_shared_memory(body);
  if (!plan.fixed) return;
  for (SharedPlan::Variable& variable : plan.variables) {
    if (variable.dynamic) continue;
    Extent& extent = variable.extent;
    extent.offset = (plan.bytes + extent.alignment - 1) / extent.alignment * extent.alignment;
    plan.bytes = extent.offset + extent.bytes;
  }
  for (const auto& [header, body] : found_.functions) {
    if (!header.function.defined || header.function.entry) continue;
    plan.begins[header.function.name] = plan.bytes;
    plan.bytes = with_own(body, plan.bytes);
  }
  std::uint32_t most = plan.bytes;
  for (const auto& [header, body] : found_.functions) {
    if (!header.function.defined || !header.function.entry) continue;
    plan.begins[header.function.name] = plan.bytes;
    most = std::max(most, with_own(body, plan.bytes));
  }
  plan.bytes = most;
}

}  // namespace

ModuleScan scan_module(std::string_view text) { return Scanner(text).scan(); }

}  // namespace tutti::emulator
