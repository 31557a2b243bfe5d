#include "bench/fit/described.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <ctime>

#include "bench/predict/machine_keys.hpp"

namespace tutti::fit {

predict::MachineFile described(const Fit& fit, const Measurements& measurements, const std::string& name,
                               bench::Placement placement, const std::string& date, const Summary& judged) {
  predict::MachineFile file;
  file.machine = fit.machine;
  timed::Machine& m = file.machine;
  m.name = name;
  m.about = fmt::format(
      "{} cores of {}, {}; fitted to bench's times of {}, those of {} other rows are off by {:.0f} % in the "
      "median",
      measurements.cores, measurements.cpu,
      placement == bench::Placement::far ? "far from each other" : "near each other", date, judged.rows,
      100 * judged.median);
  for (const char* told : {"ranks", "cores"})
    file.sources[told] = fmt::format("measured: {}, as the system tells", date);
  file.sources["last_caches"] = fmt::format("measured: {}, bench found the cores {}", date, name_of(placement));
  if (m.streams_above > 0) file.sources["streams_above"] = "estimate: as the library decides where cores are far";
  file.sources["streams_all_above"] = "estimate: the last-level cache that the system tells, as the library decides";
  for (const Determined& number : fit.numbers) {
    // Three digits: the search ends at steps of 2 %.
    for (const predict::Key& key : predict::machine_keys())
      if (number.name == key.name)
        if (const auto* member = std::get_if<double timed::Machine::*>(&key.member))
          m.** member = std::stod(fmt::format("{:.3g}", number.value));
    file.sources[number.name] =
        number.loss < 0.0005
            ? fmt::format("measured: {}, fitted by tutti fit, but no row measured tells it", date)
            : fmt::format("measured: {}, fitted by tutti fit; 20 % more or less cost {:.1f} points of the mean error",
                          date, 100 * number.loss);
  }
  return file;
}

std::string date_of(const std::vector<std::string>& files) {
  std::time_t when = files.empty() ? std::time(nullptr) : 0;
  for (const std::string& file : files) {
    struct stat found {};
    if (stat(file.c_str(), &found) == 0) when = std::max(when, found.st_mtime);
  }
  std::tm day{};
  gmtime_r(&when, &day);
  return fmt::format("{:04}-{:02}-{:02}", day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
}

}  // namespace tutti::fit
