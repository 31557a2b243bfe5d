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
  for (std::size_t k = 1; k < count_; ++k)
    if ((taken_ >> k & 1) == 0 && words_[k] == word) {
      taken_ |= 1u << k;
      return true;
    }
  return false;
}

bool Words::take_any(std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return take(word); });
}

void Words::need(std::string_view word) {
  if (!take(word)) lacks(fmt::format(".{}", word));
}

Type Words::need_type(std::initializer_list<Type> allowed) {
  for (const Type type : allowed)
    if (take(name_of(type))) return type;
  lacks("a type that it can have");
}

void Words::finish() const {
  for (std::size_t k = 1; k < count_; ++k)
    if ((taken_ >> k & 1) == 0)
      throw std::runtime_error(fmt::format("unknown modifier '.{}' in '{}'", words_[k], spelling_));
}

void Words::lacks(std::string_view what) const {
  std::string others;
  for (std::size_t k = 1; k < count_; ++k)
    if ((taken_ >> k & 1) == 0) others += fmt::format("{}.{}", others.empty() ? "" : ", ", words_[k]);
  throw std::runtime_error(
      fmt::format("'{}' lacks {}{}", spelling_, what, others.empty() ? "" : fmt::format("; there is {}", others)));
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
  words.lacks("a scope (.cta, .cluster, .gpu, .sys)");
}

}  // namespace tutti::emulator
