#include "tests/emulator/litmus/parse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tests/emulator/litmus/parse_instruction.hpp"
#include "tests/emulator/litmus/tokens.hpp"

namespace tutti::emulator::litmus {
namespace {

int index_of_thread(const Program& program, const std::string& name, const Tokens& tokens) {
  for (std::size_t t = 0; t < program.threads.size(); ++t)
    if (program.threads[t].name == name) return static_cast<int>(t);
  tokens.fail(fmt::format("no thread is named '{}'", name));
}

void parse_location(Tokens& tokens, Program& program) {
  Location location;
  location.name = tokens.take_name("a location's name");
  for (const Location& other : program.locations)
    if (other.name == location.name) tokens.fail(fmt::format("there are two locations '{}'", location.name));
  location.width = parse_type(tokens, tokens.take_name("a type"));
  if (tokens.accept("[")) {
    location.elements = static_cast<int>(tokens.take_number("the number of elements"));
    tokens.expect("]");
    if (location.elements < 1 || location.elements > 8) tokens.fail("an array has 1 to 8 elements");
  }
  if (tokens.accept("=")) location.initial = tokens.take_number("the initial value");
  tokens.end();
  program.locations.push_back(std::move(location));
}

void parse_thread(Tokens& tokens, Program& program) {
  Thread thread;
  thread.name = tokens.take_name("a thread's name");
  if (thread.name.find('.') != std::string::npos) tokens.fail("a thread's name has no dot");
  for (const Thread& other : program.threads)
    if (other.name == thread.name) tokens.fail(fmt::format("there are two threads '{}'", thread.name));
  tokens.expect("gpu");
  thread.gpu = static_cast<int>(tokens.take_number("a GPU"));
  tokens.expect("cta");
  thread.cta = static_cast<int>(tokens.take_number("a CTA"));
  if (tokens.accept("after"))
    while (!tokens.done()) thread.after.push_back(index_of_thread(program, tokens.take_name("a thread"), tokens));
  tokens.end();
  program.threads.push_back(std::move(thread));
}

class Conditions {
 public:
  Conditions(Tokens& tokens, const Program& program) : tokens_(tokens), program_(program) {}

  Condition any() {
    return joined("||", Condition::Kind::any, [this] { return all(); });
  }

 private:
  template <class Take>
  Condition joined(const char* word, Condition::Kind kind, Take take) {
    Condition whole{.kind = kind, .parts = {take()}};
    while (tokens_.accept(word)) whole.parts.push_back(take());
    return whole.parts.size() == 1 ? Condition(whole.parts.front()) : whole;
  }
  Condition all() {
    return joined("&&", Condition::Kind::all, [this] { return one(); });
  }
  Condition one() {
    if (tokens_.accept("!")) return {.kind = Condition::Kind::negation, .parts = {one()}};
    if (tokens_.accept("(")) {
      Condition inner = any();
      tokens_.expect(")");
      return inner;
    }
    Condition condition;
    condition.left = term();
    condition.comparison = parse_comparison(tokens_);
    condition.right = term();
    return condition;
  }
  Condition::Term term() {
    Condition::Term term;
    if (tokens_.next_is_number()) {
      term.value = tokens_.take_number("a number");
      return term;
    }
    term.constant = false;
    if (tokens_.peek() == "hi" || tokens_.peek() == "lo") {
      term.part = tokens_.take() == "hi" ? Part::high : Part::low;
      tokens_.expect("(");
      term.index = tokens_.peek() == "[" ? memory() : reg();
      tokens_.expect(")");
    } else {
      term.index = tokens_.peek() == "[" ? memory() : reg();
    }
    return term;
  }
  std::size_t reg() {
    const std::string name = tokens_.take_name("thread.register or [location]");
    const std::size_t dot = name.find('.');
    const int thread = index_of_thread(program_, name.substr(0, dot), tokens_);
    const std::vector<std::string>& registers = program_.threads[static_cast<std::size_t>(thread)].registers;
    const auto found =
        std::find(registers.begin(), registers.end(), dot == std::string::npos ? "" : name.substr(dot + 1));
    if (found == registers.end()) tokens_.fail(fmt::format("'{}' names no register", name));
    return index_of_register(program_, thread, static_cast<int>(found - registers.begin()));
  }
  std::size_t memory() {
    tokens_.expect("[");
    const std::string name = tokens_.take_name("a location");
    const int offset = tokens_.accept("+") ? static_cast<int>(tokens_.take_number("an offset in bytes")) : 0;
    tokens_.expect("]");
    for (std::size_t l = 0; l < program_.locations.size(); ++l) {
      const Location& location = program_.locations[l];
      if (location.name != name) continue;
      if (offset % location.width != 0 || offset / location.width >= location.elements)
        tokens_.fail(fmt::format("{} bytes into '{}' no element begins", offset, name));
      return index_of_memory(program_, static_cast<int>(l), offset / location.width);
    }
    tokens_.fail(fmt::format("no location is named '{}'", name));
  }

  Tokens& tokens_;
  const Program& program_;
};

Expectation parse_expectation(Tokens& tokens, const Program& program, std::string_view line) {
  Expectation expectation;
  expectation.text = std::string(line.substr(line.find("expect") + 7));
  const std::string word = tokens.take_name("what is expected");
  if (word == "race-free" || word == "racy") {
    expectation.kind = word == "racy" ? Expectation::Kind::racy : Expectation::Kind::race_free;
  } else {
    if (word == "allowed")
      expectation.kind = Expectation::Kind::allowed;
    else if (word == "forbidden")
      expectation.kind = Expectation::Kind::forbidden;
    else if (word == "required")
      expectation.kind = Expectation::Kind::required;
    else
      tokens.fail(fmt::format("'{}' is none of race-free, racy, allowed, forbidden, required", word));
    expectation.condition = Conditions(tokens, program).any();
  }
  tokens.end();
  return expectation;
}

void parse_line(LitmusTest& test, std::string_view line, int number) {
  Tokens tokens(line, fmt::format("{}:{}", test.name, number));
  Program& program = test.program;
  if (tokens.done()) return;
  if (tokens.accept("location")) {
    if (!program.threads.empty()) tokens.fail("locations come before threads");
    parse_location(tokens, program);
  } else if (tokens.accept("thread")) {
    parse_thread(tokens, program);
  } else if (tokens.accept("expect")) {
    test.expectations.push_back(parse_expectation(tokens, program, line));
  } else if (program.threads.empty() || !test.expectations.empty()) {
    tokens.fail(fmt::format("expected 'location', 'thread' or 'expect', got '{}'", tokens.peek()));
  } else {
    parse_instruction(tokens, program, program.threads.back(), number);
  }
}

}  // namespace

LitmusTest parse(std::string_view text, const std::string& name) {
  LitmusTest test{.name = name, .program = {}, .expectations = {}};
  int number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    parse_line(test, text.substr(begin, end - begin), ++number);
    begin = end + 1;
  }
  const auto decides_race = [](const Expectation& e) {
    return e.kind == Expectation::Kind::race_free || e.kind == Expectation::Kind::racy;
  };
  if (std::none_of(test.expectations.begin(), test.expectations.end(), decides_race))
    throw std::runtime_error(fmt::format("{}:{}: it says neither 'expect race-free' nor 'expect racy'", name, number));
  try {
    validate(test.program);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format("{}: {}", name, error.what()));
  }
  return test;
}

LitmusTest parse_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("cannot read {}", path));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t slash = path.rfind('/');
  return parse(text, slash == std::string::npos ? path : path.substr(slash + 1));
}

}  // namespace tutti::emulator::litmus
