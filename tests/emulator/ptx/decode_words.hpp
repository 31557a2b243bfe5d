// The words of a mnemonic, read one after the other.
#pragma once
#include <array>
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
  bool done() const { return at_ == count_; }
  /// The word that is next; empty at the end.
  std::string_view next() const { return done() ? std::string_view{} : words_[at_]; }
  bool take(std::string_view word);
  bool take_any(std::initializer_list<std::string_view> words);
  /// The value that goes with the next word, if that is one of the table's.
  template <class T>
  std::optional<T> take_from(std::initializer_list<std::pair<std::string_view, T>> table) {
    for (const auto& [word, value] : table)
      if (take(word)) return value;
    return std::nullopt;
  }
  /// The same; it must be there. `what` names it for the message.
  template <class T>
  T need_from(std::initializer_list<std::pair<std::string_view, T>> table, std::string_view what) {
    if (const std::optional<T> found = take_from(table)) return *found;
    unknown(what);
  }
  void need(std::string_view word);
  /// One of PTX's scalar types that `allowed` has.
  Type need_type(std::initializer_list<Type> allowed);
  /// There must be no word left.
  void finish();
  [[noreturn]] void unknown(std::string_view expected);

 private:
  std::string_view spelling_;
  std::array<std::string_view, 16> words_;
  std::size_t count_ = 0, at_ = 0;
};

/// The type of this name, Type::none if there is none.
Type type_of(std::string_view word);
std::string_view name_of(Type type);
/// .cta, .cluster, .gpu, .sys
std::optional<Scope> take_scope(Words& words);
Scope need_scope(Words& words);

}  // namespace tutti::emulator
