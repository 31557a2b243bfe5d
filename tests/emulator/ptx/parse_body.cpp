#include "tests/emulator/ptx/parse_body.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "tests/emulator/ptx/decode_words.hpp"
#include "tests/emulator/ptx/parse_call.hpp"
#include "tests/emulator/ptx/parse_labels.hpp"
#include "tests/emulator/ptx/parse_places.hpp"
#include "tests/emulator/ptx/slots.hpp"

namespace tutti::emulator {
namespace {

class BodyParser {
 public:
  BodyParser(const ModuleNames& names, std::span<const NamedSymbol> parameters, const BodyText& body,
             Function& function)
      : names_(names),
        function_(function),
        lexer_(body.text, body.begin, body.end, body.line),
        resolver_(names, parameters, function),
        line_(body.line) {}

  void parse() {
    try {
      while (!lexer_.done()) statement();
      line_ = lexer_.line();
      end();
    } catch (const TextError&) {
      throw;
    } catch (const std::runtime_error& error) {
      throw TextError(line_, error.what());
    }
  }

 private:
  void statement();
  void directive(std::string_view word);
  void label(std::string_view name);
  void instruction(std::string_view mnemonic);
  bool control_flow(std::string_view mnemonic, Instruction& instruction);
  void branch_table(std::string_view name);
  void pragma();
  const Form& form_of(std::string_view mnemonic, bool pair);
  void emit(Instruction instruction);
  void close_labels();
  void end();

  std::int32_t next() const { return static_cast<std::int32_t>(function_.code.size()); }

  const ModuleNames& names_;
  Function& function_;
  Lexer lexer_;
  Resolver resolver_;
  Labels labels_;
  Places places_;
  Prototypes prototypes_;
  std::unordered_map<std::string_view, std::int32_t> tables_;
  std::unordered_map<std::string_view, Form> forms_, pair_forms_;
  Operands operands_;
  std::vector<Instruction> before_;
  std::uint32_t line_;
  std::uint32_t depth_ = 0;
  std::int32_t furthest_ = -1;  ///< that a branch goes to
  Slot guard_ = kNoSlot;
  bool guard_negated_ = false;
};

void BodyParser::statement() {
  const char c = lexer_.peek();
  line_ = lexer_.line();
  if (lexer_.take('{')) {
    ++depth_;
    resolver_.open_scope();
    labels_.open_scope();
    return;
  }
  if (lexer_.take('}')) {
    --depth_;
    resolver_.close_scope();
    close_labels();
    return;
  }
  if (lexer_.take(';')) return;
  guard_ = kNoSlot;
  if (lexer_.take('@')) {
    guard_negated_ = lexer_.take('!');
    guard_ = resolver_.predicate(lexer_.word("a predicate"));
  }
  if (c == '.') return directive(lexer_.directive());
  const std::string_view word = lexer_.word("an instruction");
  if (c != '@' && lexer_.take(':')) return label(word);
  instruction(word);
}

void BodyParser::directive(std::string_view word) {
  if (word == ".loc") return places_.parse(lexer_);
  if (word == ".reg") return resolver_.declare_registers(lexer_);
  if (word == ".param") return resolver_.declare_variable(lexer_, Space::param);
  if (word == ".local") return resolver_.declare_variable(lexer_, Space::local);
  if (word == ".shared") return resolver_.declare_variable(lexer_, Space::shared);
  if (word == ".pragma") return pragma();
  throw std::runtime_error(fmt::format("unknown directive '{}'", word));
}

// By PTX's definition these change only how fast code is, and who does not know one passes it over.
void BodyParser::pragma() {
  do {
    lexer_.string();
  } while (lexer_.take(','));
  lexer_.expect(';');
}

void BodyParser::label(std::string_view name) {
  if (lexer_.take(".branchtargets")) return branch_table(name);
  if (lexer_.take(".callprototype")) {
    prototypes_[name] = parse_prototype(lexer_);
    return;
  }
  if (lexer_.take(".calltargets")) {
    do {
      lexer_.word("a function");
    } while (lexer_.take(','));
    return lexer_.expect(';');
  }
  if (!labels_.define(name, next())) throw std::runtime_error(fmt::format("the label '{}' stands twice", name));
}

void BodyParser::branch_table(std::string_view name) {
  const auto table = static_cast<std::int32_t>(function_.tables.size());
  if (!tables_.try_emplace(name, table).second)
    throw std::runtime_error(fmt::format("the table '{}' stands twice", name));
  std::vector<std::int32_t>& targets = function_.tables.emplace_back();
  do {
    labels_.use({lexer_.word("a label"), line_, table, targets.size()});
    targets.push_back(-1);
  } while (lexer_.take(','));
  lexer_.expect(';');
}

void BodyParser::emit(Instruction instruction) {
  instruction.line = line_;
  instruction.place = places_.current();
  function_.code.push_back(instruction);
}

bool BodyParser::control_flow(std::string_view mnemonic, Instruction& instruction) {
  if (mnemonic == "bra" || mnemonic == "bra.uni") {
    instruction.kind = Kind::branch;
    labels_.use({lexer_.word("a label"), line_, -1, function_.code.size()});
    lexer_.expect(';');
  } else if (mnemonic == "brx.idx" || mnemonic == "brx.idx.uni") {
    instruction.kind = Kind::branch_indexed;
    const std::string_view index = lexer_.word("a register");
    const std::optional<Slot> slot = resolver_.register_of(index, Type::u32);
    if (!slot) throw std::runtime_error(fmt::format("unknown register '{}'", index));
    instruction.from[0] = *slot;
    instruction.from_count = 1;
    lexer_.expect(',');
    const std::string_view name = lexer_.word("a table of labels");
    const auto table = tables_.find(name);
    if (table == tables_.end()) throw std::runtime_error(fmt::format("unknown table of labels '{}'", name));
    instruction.target = table->second;
    lexer_.expect(';');
  } else if (mnemonic == "call" || mnemonic == "call.uni") {
    instruction.kind = Kind::call;
    instruction.target = static_cast<std::int32_t>(function_.calls.size());
    function_.calls.push_back(parse_call(lexer_, names_, prototypes_, resolver_));
  } else {
    return false;
  }
  return true;
}

const Form& BodyParser::form_of(std::string_view mnemonic, bool pair) {
  auto& forms = pair ? pair_forms_ : forms_;
  const auto found = forms.find(mnemonic);
  if (found != forms.end()) return found->second;
  return forms.emplace(mnemonic, decode(mnemonic, pair)).first->second;
}

void BodyParser::instruction(std::string_view mnemonic) {
  Instruction made;
  if (!control_flow(mnemonic, made)) {
    parse_operands(lexer_, operands_);
    const bool vector = operands_.element_count != 0 && mnemonic.starts_with("mov.");
    if (vector) {
      resolver_.resolve_vector_move(type_of(mnemonic.substr(4)), operands_, made);
    } else {
      const Form& form = form_of(mnemonic, operands_.count != 0 && operands_.items[0].paired);
      made = form.instruction;
      before_.clear();
      resolver_.resolve(form, operands_, made, before_);
      for (const Instruction& each : before_) emit(each);
    }
  }
  made.guard = guard_;
  made.guard_negated = guard_ != kNoSlot && guard_negated_;
  if (made.kind == Kind::store && made.space == Space::param)
    throw std::runtime_error("a store to a parameter that was passed");
  if (made.kind != Kind::atomic || made.vector == 1) return emit(made);
  // Atomic for each element, in no order.
  const Instruction all = made;
  made.vector = 1;
  for (int k = 0; k < all.vector; ++k) {
    if (std::find(all.to, all.to + std::min<int>(k, all.to_count), all.from[k]) !=
        all.to + std::min<int>(k, all.to_count))
      throw std::runtime_error(
          "a vector atomic that writes a register before it reads it, which the emulator cannot do");
    made.offset = all.offset + k * bytes_of(all.type);
    made.to[0] = all.to[k];
    made.from[0] = all.from[k];
    made.to_count = std::min<std::uint8_t>(all.to_count, 1);
    made.from_count = 1;
    emit(made);
  }
}

void BodyParser::close_labels() {
  labels_.close_scope([this](const LabelUse& use, std::int32_t target) {
    if (target < 0) throw TextError(use.line, fmt::format("unknown label '{}'", use.name));
    furthest_ = std::max(furthest_, target);
    if (use.table < 0)
      function_.code[use.at].target = target;
    else
      function_.tables[static_cast<std::size_t>(use.table)][use.at] = target;
  });
}

void BodyParser::end() {
  if (depth_ != 0) throw std::runtime_error("the text ends before a '}'");
  close_labels();
  // A branch may lead to the very end, which returns.
  Instruction last;
  last.kind = Kind::ret;
  if (function_.code.empty() || function_.code.back().kind != last.kind || function_.code.back().guard != kNoSlot ||
      furthest_ == next())
    emit(last);
  function_.places = places_.take();
  resolver_.finish();
  pack_slots(function_);
}

}  // namespace

void parse_body(const ModuleNames& names, std::span<const NamedSymbol> parameters, const BodyText& body,
                Function& function) {
  BodyParser(names, parameters, body, function).parse();
}

}  // namespace tutti::emulator
