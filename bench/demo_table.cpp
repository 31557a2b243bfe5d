#include "bench/demo_table.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "bench/lineup.hpp"
#include "bench/machine.hpp"
#include "bench/race.hpp"

namespace tutti::bench {
namespace {

// The row of a contender, in the placement that most rounds had.
const Row* find(const std::vector<Row>& rows, const std::string& backend, MemoryKind memory) {
  const Row* found = nullptr;
  for (const Row& row : rows)
    if (row.backend == backend && row.memory == memory && (!found || row.rounds > found->rounds)) found = &row;
  return found;
}

std::string cell(const Row* row) {
  if (!row) return fmt::format("{:>10}{:>8}", "-", "-");
  const double bus = busbw(row->c.operation, row->c.ranks, row->c.bytes, row->seconds) / kGB;
  return fmt::format("{:>10}{:>8.2f}", readable_duration(row->seconds), bus);
}

std::string ratio(const Row* row) {
  if (!row || row->ratio.empty()) return fmt::format("{:>8}", "-");
  return fmt::format("{:>7.2f}x", row->ratio.begin()->second.median);
}

}  // namespace

bool show_table(Session& session, InOrder& out) {
  BenchArguments arguments;
  arguments.operations = {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather};
  arguments.range = {8, 16 << 20, 0, 128};
  const int ranks = session.size();
  Lineup lineup(session, arguments, buffers_for(arguments, ranks));
  RaceOptions options;
  options.rounds = 9;
  options.batch_seconds = 0.01;
  options.second_run_seconds = 0;
  Race race(session, lineup.meeting(), options, lineup.device());

  const std::string peer = lineup.peer();
  const std::string library = peer == "mpi" ? this_machine(session.on_gpu()).mpi : peer == "nccl" ? "NCCL" : "";
  out.once(fmt::format("Time and bus bandwidth (GB/s) of tutti{}, {} rank{}, in turn on the same buffers\n",
                       library.empty() ? "" : " and of " + library, ranks, ranks > 1 ? "s" : ""));
  for (const std::string& note : lineup.notes()) out.once(note + "\n");
  if (!library.empty())
    out.once(fmt::format("ratio: how many times as fast as {} on the same memory (median of {} rounds). ", library,
                         options.rounds));
  out.once("./tutti bench has more.\n\n");
  std::string columns =
      fmt::format("  {:<15}{:>8}{:>26}{:>26}{:>18}", "", "", "tutti, peer-mapped memory", "tutti, any memory", library);
  columns.erase(columns.find_last_not_of(' ') + 1);
  out.once(columns + "\n" +
           fmt::format("  {:<15}{:>8}{:>10}{:>8}{:>8}{:>10}{:>8}{:>8}{:>10}{:>8}\n", "", "size", "time", "busbw",
                       "ratio", "time", "busbw", "ratio", "time", "busbw"));
  std::uint64_t wrong = 0;
  for (Operation operation : arguments.operations)
    for (const Case& c : cases_of(arguments, operation, ranks, false)) {
      const RaceResult result = race.run(c, lineup.lanes(c));
      for (const Row& row : result.rows) wrong += row.wrong;
      const Row* shared = find(result.rows, "native", MemoryKind::peer_mapped);
      const Row* any = find(result.rows, "native", MemoryKind::any);
      out.once(fmt::format("  {:<15}{:>8}{}{}{}{}{}\n", name_of(operation),
                           readable_bytes(static_cast<double>(c.bytes)), cell(shared), ratio(shared), cell(any),
                           ratio(any), cell(find(result.rows, peer, MemoryKind::any))));
    }
  out.once(wrong == 0 ? "\n  All results compared bit for bit: none wrong.\n"
                      : fmt::format("\n  WRONG: {} elements.\n", wrong));
  return wrong == 0;
}

}  // namespace tutti::bench
