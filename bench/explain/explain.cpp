// tutti-explain: what a call does, step by step.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "bench/explain/arguments.hpp"
#include "bench/explain/chrome_trace.hpp"
#include "bench/explain/page/page.hpp"
#include "bench/explain/picture.hpp"
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

void flush_output() {
  if (std::fflush(stdout) != 0) throw std::runtime_error("cannot write to the standard output");
}

void write(const std::string& name, const std::string& text) {
  if (name.empty()) return;
  std::ofstream file(name, std::ios::binary);
  file << text << std::flush;
  if (!file) throw std::runtime_error(fmt::format("cannot write '{}'", name));
}

int show(const Arguments& arguments) {
  std::vector<Recording> recordings;
  if (!arguments.html.empty()) {
    recordings = record_alike(arguments.subjects);
  } else {
    for (const Subject& subject : arguments.subjects) recordings.push_back(record_alike({subject}).front());
  }
  std::vector<Story> stories;
  std::vector<Chains> chains;
  for (const Recording& recording : recordings) {
    chains.push_back(chains_of(recording.trace, recording.subject.ranks));
    stories.push_back(tell(recording, chains.back()));
  }
  // Whatever can fail comes before anything is written.
  const Story& first = stories.front();
  const std::string svg = arguments.svg.empty() ? "" : picture(first, arguments.step);
  const std::string html = arguments.html.empty() ? "" : page_of(stories);
  bool right = true;
  for (std::size_t i = 0; i < stories.size(); ++i) {
    fmt::print("{}{}", i > 0 ? "\n" : "", table(stories[i], colours()));
    right = right && stories[i].right;
  }
  flush_output();
  write(arguments.svg, svg);
  write(arguments.html, html);
  if (!arguments.trace.empty())
    write(arguments.trace, chrome_trace(recordings.front(), chains.front(), title_of(first)));
  if (!arguments.story.empty()) write(arguments.story, to_json(first) + "\n");
  return right ? 0 : 1;
}

int fail(int code, const std::exception& error) {
  fmt::print(stderr, "tutti explain: {}\n", error.what());
  return code;
}

int run(const std::vector<std::string>& words) {
  try {
    const Arguments arguments = parse(words);
    if (arguments.help) {
      fmt::print("{}", *arguments.help);
      flush_output();
      return 0;
    }
    return show(arguments);
  } catch (const bench::ArgumentError& error) {
    return fail(2, error);
  } catch (const Error& error) {  // the algorithm cannot serve this call
    return fail(2, error);
  } catch (const std::exception& error) {
    return fail(1, error);
  }
}

}  // namespace
}  // namespace tutti::explain

int main(int argc, char** argv) { return tutti::explain::run({argv + 1, argv + argc}); }
