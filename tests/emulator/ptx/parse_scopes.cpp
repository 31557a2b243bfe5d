// Names of a function: its scopes, its variables, and the shared memory that it uses.
#include <fmt/format.h>

#include <algorithm>

#include "tests/emulator/ptx/parse_resolve.hpp"

namespace tutti::emulator {
namespace {

constexpr std::uint32_t kDynamicSharedAlignment = 128;

}  // namespace

Resolver::Resolver(const ModuleNames& names, std::span<const NamedSymbol> parameters, Function& function)
    : names_(names),
      function_(function),
      registers_(slots_),
      constants_(slots_),
      symbols_(parameters.begin(), parameters.end()),
      shared_offsets_(names.shared.variables.size()) {
  for (const Extent& result : function.results) local_bytes_ = std::max(local_bytes_, result.offset + result.bytes);
  function.local_bytes = local_bytes_;
  if (names.shared.fixed) {
    const auto own = names.shared.begins.find(function.name);
    if (own != names.shared.begins.end()) shared_bytes_ = own->second;
    for (std::size_t k = 0; k < shared_offsets_.size(); ++k)
      if (!names.shared.variables[k].dynamic) shared_offsets_[k] = names.shared.variables[k].extent.offset;
  }
  registers_.open_scope();
}

void Resolver::open_scope() {
  scopes_.push_back({symbols_.size(), local_bytes_});
  registers_.open_scope();
}

// Parameters of calls share their memory; a local variable may be pointed to from outside its scope.
void Resolver::close_scope() {
  symbols_.resize(scopes_.back().symbols);
  const bool keeps = scopes_.back().declares_local;
  if (!keeps) local_bytes_ = scopes_.back().local_bytes;
  scopes_.pop_back();
  if (keeps && !scopes_.empty()) scopes_.back().declares_local = true;
  registers_.close_scope();
}

void Resolver::declare_variable(Lexer& lexer, Space space) {
  do {
    const Declaration declaration = parse_declaration(lexer);
    if (declaration.open) throw std::runtime_error(fmt::format("'{}' has no size", declaration.name));
    for (std::size_t k = scopes_.empty() ? 0 : scopes_.back().symbols; k < symbols_.size(); ++k)
      if (symbols_[k].name == declaration.name)
        throw std::runtime_error(fmt::format("'{}' is declared twice", declaration.name));
    NamedSymbol named{declaration.name, {}};
    if (space == Space::shared) {
      named.symbol = {Constant::Of::shared, space, 0, placed(declaration, shared_bytes_)};
    } else {
      named.symbol = {Constant::Of::local, Space::local, 0, placed(declaration, local_bytes_)};
      function_.local_bytes = std::max(function_.local_bytes, local_bytes_);
      if (space == Space::local && !scopes_.empty()) scopes_.back().declares_local = true;
    }
    symbols_.push_back(named);
  } while (lexer.take(','));
  lexer.expect(';');
}

std::uint32_t Resolver::shared_offset(std::uint32_t variable) {
  std::optional<std::uint32_t>& offset = shared_offsets_[variable];
  if (!offset) {
    const Extent& extent = names_.shared.variables[variable].extent;
    shared_bytes_ = (shared_bytes_ + extent.alignment - 1) / extent.alignment * extent.alignment;
    offset = shared_bytes_;
    shared_bytes_ += extent.bytes;
  }
  return *offset;
}

void Resolver::finish() {
  function_.shared_bytes = names_.shared.fixed ? names_.shared.bytes : shared_bytes_;
  function_.constants = constants_.take((function_.shared_bytes + kDynamicSharedAlignment - 1) /
                                        kDynamicSharedAlignment * kDynamicSharedAlignment);
  function_.pairs = registers_.take_pairs();
  function_.slots = slots_.taken();
}

const Symbol* Resolver::symbol(std::string_view name) const {
  for (std::size_t k = symbols_.size(); k-- > 0;)
    if (symbols_[k].name == name) return &symbols_[k].symbol;
  const auto found = names_.symbols.find(name);
  return found != names_.symbols.end() ? &found->second : nullptr;
}

}  // namespace tutti::emulator
