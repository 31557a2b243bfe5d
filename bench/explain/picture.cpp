#include "bench/explain/picture.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "bench/arguments.hpp"
#include "bench/explain/panel.hpp"
#include "bench/explain/table.hpp"

namespace tutti::explain {
namespace {

constexpr int kMargin = 16;
constexpr int kMostWidth = 1340;  // of panels beside each other
constexpr int kLeastWidth = 780;
constexpr int kHead = 52;
constexpr int kFoot = 26;

const char* const kStyle = R"(<style>
svg { font-family: ui-sans-serif, system-ui, sans-serif; font-size: 12px; color: #1f2328; fill: currentColor; }
.title { font-size: 15px; font-weight: 600; }
.step { font-size: 13px; font-weight: 600; }
.quiet { opacity: .7; }
.value { fill: #10131a; text-anchor: middle; font-variant-numeric: tabular-nums; }
.cell { stroke: #6e7781; stroke-width: .7; }
.fresh { stroke: currentColor; stroke-width: 2; }
.empty { fill: none; stroke: #8c959f; stroke-width: .7; stroke-dasharray: 2 2; }
.old { opacity: .3; }
.part { fill: #10131a; }
.arrow { fill: none; stroke-width: 1.8; opacity: .9; }
.flag { fill: none; stroke: currentColor; stroke-width: 1.3; opacity: .75; }
.sum { fill: #f6f8fa; stroke-width: 1.8; }
.sign { fill: #10131a; text-anchor: middle; font-weight: 700; }
.frame { fill: none; stroke: #8c959f; stroke-width: .6; opacity: .6; }
@media (prefers-color-scheme: dark) { svg { color: #e6edf3; } }
</style>
)";

}  // namespace

std::string picture(const Story& story, int step) {
  const Panel panel(story);
  std::vector<int> shown;  // of steps, from 0; -1: before the call
  if (step == 0) shown.push_back(-1);
  for (std::size_t i = 0; i < story.steps.size(); ++i)
    if (step < 0 ? panel.shows(story.steps[i]) : story.steps[i].number == step) shown.push_back(static_cast<int>(i));
  if (shown.empty())
    throw bench::ArgumentError(fmt::format("--step {}: the steps are 0, before the call, to {}", step,
                                           story.steps.empty() ? 0 : story.steps.back().number));
  const int columns = std::clamp(kMostWidth / panel.width(), 1, std::max(1, static_cast<int>(shown.size())));
  const int lines = (static_cast<int>(shown.size()) + columns - 1) / columns;
  const int width = std::max(2 * kMargin + columns * panel.width(), kLeastWidth);
  const int height = kHead + lines * panel.height() + kFoot;

  const std::string title = fmt::format("{}: {} ranks, {} memory", title_of(story), story.ranks, story.memory);
  std::string text = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img">)"
      "\n<title>{2}</title>\n",
      width, height, title);
  const bool begins = step < 0 && !story.steps.empty() && !panel.shows(story.steps.front());
  const char* const enters = begins ? " Step 1, enter, moves nothing." : "";
  const char* const dashes = story.sums ? " Dashes at the foot of a cell: the ranks whose parts are in it." : "";
  text += kStyle + panel.definitions();
  text += fmt::format("<text class=\"title\" x=\"{}\" y=\"24\">{}</text>\n", kMargin, title);
  text += fmt::format(
      "<text class=\"quiet\" x=\"{}\" y=\"42\">{}</text>\n", kMargin,
      story.values.empty() ? "It moves no data." : fmt::format("Before, {}.{}{}", story.values, enters, dashes));
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const int at = static_cast<int>(i);
    text += fmt::format("<g transform=\"translate({} {})\">\n", kMargin + at % columns * panel.width(),
                        kHead + at / columns * panel.height());
    text += panel.draw(shown[i]) + "</g>\n";
  }
  text += fmt::format(
      "<text class=\"quiet\" x=\"{}\" y=\"{}\">{} step{}, {:g} bytes by the rank that moves most{}</text>\n", kMargin,
      height - 10, story.counted.steps, story.counted.steps == 1 ? "" : "s", story.counted.bytes,
      story.formula_text.empty() ? fmt::format(", as the formula in {} says", story.file) : "");
  return text + "</svg>\n";
}

}  // namespace tutti::explain
