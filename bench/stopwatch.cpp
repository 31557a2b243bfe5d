#include "bench/stopwatch.hpp"

#include <algorithm>
#include <chrono>

#include "bench/statistics.hpp"

namespace tutti::bench {

std::vector<double> Stopwatch::times(const std::function<void()>& prepare,
                                     const std::vector<std::function<void()>>& calls) {
  std::vector<std::vector<double>> samples(calls.size());
  for (int i = 0; i <= samples_; ++i)
    for (std::size_t k = 0; k < calls.size(); ++k) {
      prepare();
      comm_.barrier();
      const auto begin = std::chrono::steady_clock::now();
      calls[k]();
      const double mine = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      const std::vector<double> all = session_.bootstrap_all_gather(mine);
      if (i > 0) samples[k].push_back(*std::max_element(all.begin(), all.end()));  // the first was the warm-up
    }
  std::vector<double> medians;
  for (std::vector<double>& of_one : samples) medians.push_back(median(std::move(of_one)));
  return medians;
}

}  // namespace tutti::bench
