// The table of tutti-bench as people read it.
#pragma once
#include <string>
#include <vector>

#include "bench/arguments.hpp"
#include "bench/machine.hpp"
#include "bench/rows.hpp"

namespace tutti::bench {

/// The lines above the table: where and how was measured. `arena_bytes`: of native's communicator on each rank.
std::string table_header(const BenchArguments& arguments, const Machine& machine, int ranks, std::size_t arena_bytes);
/// The line that opens a collective, and the column titles.
std::string section_header(const Case& c);
/// One line. `several`: name the algorithm that was asked for beside the one that ran.
std::string table_line(const Row& row, bool several);
/// The lines below: wrong elements, average bus bandwidth of each backend, and in how many rows who was faster.
std::string table_footer(const std::vector<Row>& rows, bool checked);

}  // namespace tutti::bench
