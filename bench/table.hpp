// The table of tutti-bench as people read it.
#pragma once
#include <string>
#include <vector>

#include "bench/arguments.hpp"
#include "bench/rows.hpp"

namespace tutti::bench {

/// What a run was measured on and with.
struct Setting {
  std::string machine;         ///< "2 cores of ..."
  std::string device;          ///< where native runs: "the CPU (...)"
  std::string peer;            ///< the backend that native is compared with; empty if there is none
  bool several_peers = false;  ///< there are others besides
  std::string peer_library;    ///< its name and version, or empty
  int ranks = 1;
  std::size_t arena_bytes = 0;     ///< of native's communicator on each rank
  bool placements = true;          ///< the cores' distance is measured
  std::vector<std::string> notes;  ///< what could not be had
};

class Table {
 public:
  /// `timed`: times mean something; else what stands for them is "-".
  explicit Table(const BenchArguments& arguments, bool timed = true);

  /// The lines above the table: where and how was measured.
  std::string header(const Setting& setting) const;
  /// The line that opens a collective, and the column titles.
  std::string section(const Case& c) const;
  /// One line each. With several algorithms, the one that was asked for stands beside the one that ran.
  std::string line(const Row& row) const;
  std::string line(const LeftOut& left_out) const;
  /// The lines below: wrong elements, average bus bandwidth of each backend, and in how many rows who was faster.
  std::string footer(const std::vector<Row>& rows) const;

 private:
  std::string columns(const std::vector<std::string>& texts) const;
  std::vector<std::string> head_of(const Row& row) const;

  BenchArguments arguments_;
  bool timed_;
  int algorithm_width_;
  int backend_width_;
};

}  // namespace tutti::bench
