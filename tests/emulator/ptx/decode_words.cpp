#include "tests/emulator/ptx/decode_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace tutti::emulator {
namespace {

constexpr std::pair<std::string_view, Type> kTypes[] = {
    {"pred", Type::pred}, {"b8", Type::b8},   {"b16", Type::b16},     {"b32", Type::b32}, {"b64", Type::b64},
    {"b128", Type::b128}, {"u8", Type::u8},   {"u16", Type::u16},     {"u32", Type::u32}, {"u64", Type::u64},
    {"s8", Type::s8},     {"s16", Type::s16}, {"s32", Type::s32},     {"s64", Type::s64}, {"f16", Type::f16},
    {"bf16", Type::bf16}, {"f32", Type::f32}, {"f16x2", Type::f16x2}, {"f64", Type::f64}, {"bf16x2", Type::bf16x2}};

}  // namespace

Words::Words(std::string_view spelling) : spelling_(spelling) {
  for (std::size_t begin = 0; begin <= spelling.size();) {
    const std::size_t end = std::min(spelling.find('.', begin), spelling.size());
    if (count_ == words_.size()) throw std::runtime_error(fmt::format("unknown instruction '{}'", spelling));
    words_[count_++] = spelling.substr(begin, end - begin);
    begin = end + 1;
  }
}

bool Words::take(std::string_view word) {
  if (done() || next() != word) return false;
  ++at_;
  return true;
}

bool Words::take_any(std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return take(word); });
}

void Words::need(std::string_view word) {
  if (!take(word)) unknown(fmt::format(".{}", word));
}

Type Words::need_type(std::initializer_list<Type> allowed) {
  const Type type = type_of(next());
  if (type == Type::none || std::find(allowed.begin(), allowed.end(), type) == allowed.end())
    unknown("a type that it can have");
  ++at_;
  return type;
}

void Words::finish() {
  if (!done()) unknown("nothing more");
}

void Words::unknown(std::string_view expected) {
  if (done()) throw std::runtime_error(fmt::format("'{}' lacks a modifier: expected {}", spelling_, expected));
  throw std::runtime_error(
      fmt::format("unknown modifier '.{}' in '{}': expected {} there", next(), spelling_, expected));
}

Type type_of(std::string_view word) {
  for (const auto& [name, type] : kTypes)
    if (name == word) return type;
  return Type::none;
}

std::string_view name_of(Type type) {
  for (const auto& [name, named] : kTypes)
    if (named == type) return name;
  return "none";
}

std::optional<Scope> take_scope(Words& words) {
  return words.take_from<Scope>(
      {{"cta", Scope::cta}, {"cluster", Scope::cluster}, {"gpu", Scope::gpu}, {"sys", Scope::sys}});
}

Scope need_scope(Words& words) {
  if (const std::optional<Scope> scope = take_scope(words)) return *scope;
  words.unknown("a scope (.cta, .cluster, .gpu, .sys)");
}

}  // namespace tutti::emulator
