// tutti-explain: what a call does, step by step.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "bench/explain/arguments.hpp"
#include "bench/explain/page/page.hpp"
#include "bench/explain/story_json.hpp"
#include "bench/explain/table.hpp"
#include "bench/explain/tell.hpp"

namespace tutti::explain {
namespace {

/// Whether a terminal shows colours: see no-color.org.
bool colours() {
  const char* const off = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (off == nullptr || *off == '\0');
}

void write(const std::string& name, const std::string& text) {
  if (name.empty()) return;
  std::ofstream file(name, std::ios::binary);
  file << text << std::flush;
  if (!file) throw std::runtime_error(fmt::format("cannot write '{}'", name));
}

int show(const Arguments& arguments) {
  const std::vector<Recording> recordings = record_alike(arguments.subjects);
  std::vector<Story> stories;
  bool right = true;
  for (const Recording& recording : recordings) {
    const Chains chains = chains_of(recording.trace, recording.subject.ranks);
    stories.push_back(tell(recording, chains));
    right = right && stories.back().right;
  }
  for (std::size_t i = 0; i < stories.size(); ++i) fmt::print("{}{}", i > 0 ? "\n" : "", table(stories[i], colours()));
  if (!arguments.html.empty()) write(arguments.html, page_of(stories));
  if (!arguments.story.empty()) write(arguments.story, to_json(stories.front()) + "\n");
  return right ? 0 : 1;
}

int run(const std::vector<std::string>& words) {
  try {
    const Arguments arguments = parse(words);
    if (arguments.help) {
      fmt::print("{}", *arguments.help);
      return 0;
    }
    return show(arguments);
  } catch (const bench::ArgumentError& error) {
    fmt::print(stderr, "tutti explain: {}\n", error.what());
    return 2;
  } catch (const std::domain_error& error) {  // the kernel cuts cells: others would do
    fmt::print(stderr, "tutti explain: {}\n", error.what());
    return 2;
  } catch (const std::length_error& error) {
    fmt::print(stderr, "tutti explain: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tutti explain: {}\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace tutti::explain

int main(int argc, char** argv) { return tutti::explain::run({argv + 1, argv + argc}); }
