// The words of a mnemonic: its name, and modifiers, taken in any order, as by ptxas, each at most once.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "tests/emulator/ptx/types.hpp"

namespace tutti::emulator {

class Words {
 public:
  explicit Words(std::string_view spelling);

  std::string_view spelling() const { return spelling_; }
  std::string_view name() const { return words_[0]; }
  /// Takes the modifier if it is there and not taken yet.
  bool take(std::string_view word);
  /// The first of them that is there.
  bool take_any(std::initializer_list<std::string_view> words);
  /// The value that goes with the first word of the table that is there.
  template <class T>
  std::optional<T> take_from(std::initializer_list<std::pair<std::string_view, T>> table) {
    for (const auto& [word, value] : table)
      if (take(word)) return value;
    return std::nullopt;
  }
  /// The same; there must be one. `what` names it for the message.
  template <class T>
  T need_from(std::initializer_list<std::pair<std::string_view, T>> table, std::string_view what) {
    if (const std::optional<T> found = take_from(table)) return *found;
    lacks(what);
  }
  void need(std::string_view word);
  /// One of PTX's scalar types that `allowed` has.
  Type need_type(std::initializer_list<Type> allowed);
  /// There must be no modifier left.
  void finish() const;
  [[noreturn]] void lacks(std::string_view what) const;

 private:
  std::string_view spelling_;
  std::array<std::string_view, 16> words_;
  std::size_t count_ = 0;
  std::uint32_t taken_ = 1;  ///< a bit for each word
};

/// The type of this name, Type::none if there is none.
Type type_of(std::string_view word);
std::string_view name_of(Type type);
/// .cta, .cluster, .gpu, .sys
std::optional<Scope> take_scope(Words& words);
Scope need_scope(Words& words);

}  // namespace tutti::emulator
