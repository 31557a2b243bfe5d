// Labels of a function, in nested scopes.
#pragma once
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tutti::emulator {

/// Where a label's instruction is to be put once it is known, and who asks.
struct LabelUse {
  std::string_view name;
  std::uint32_t line;
  std::int32_t table;  ///< of Function::tables, -1: the target of an instruction
  std::size_t at;      ///< the instruction, or the entry of the table
};

class Labels {
 public:
  Labels() : scopes_(1) {}
  void open_scope() { scopes_.emplace_back(); }
  /// Calls `resolved(use, instruction)` for the uses of the scope's labels; the others are asked for around it.
  template <class F>
  void close_scope(F resolved) {
    Scope closed = std::move(scopes_.back());
    scopes_.pop_back();
    for (const LabelUse& use : closed.uses) {
      const auto found = closed.labels.find(use.name);
      if (found != closed.labels.end())
        resolved(use, found->second);
      else if (scopes_.empty())
        resolved(use, -1);
      else
        scopes_.back().uses.push_back(use);
    }
  }
  /// Whether the name is new.
  bool define(std::string_view name, std::int32_t instruction) {
    return scopes_.back().labels.try_emplace(name, instruction).second;
  }
  void use(const LabelUse& use) { scopes_.back().uses.push_back(use); }

 private:
  struct Scope {
    std::unordered_map<std::string_view, std::int32_t> labels;
    std::vector<LabelUse> uses;
  };
  std::vector<Scope> scopes_;
};

}  // namespace tutti::emulator
