#include "tests/model/mutant_program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace tutti::mutants {

int hunt_and_tell(const std::vector<Kernel>& kernels, int seeds, unsigned threads) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  Hunt hunt;
  hunt.kernels = kernels;
  hunt.threads = threads;
  hunt.seeds = hunt.seeds_of_listed = seeds;
  if (terminal) {
    hunt.progress = [](std::size_t done, std::size_t of) {
      if (done % 64 == 0) fmt::print(stderr, "\r{} of {} mutants", done, of);
    };
  }
  const Bag bag = run(hunt);
  if (terminal) std::fputs("\r\033[K", stderr);
  fmt::print("{}", table_of(bag));
  fmt::print("\n{} words of kernels, each changed on each of up to {} ranks, and on all; up to {} seeds.\n", bag.words,
             kRanksInTurn, hunt.seeds);
  for (const std::string& complaint : bag.complaints) fmt::print("{}\n", complaint);
  return bag.complaints.empty() ? 0 : 1;
}

}  // namespace tutti::mutants
