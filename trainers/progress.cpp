#include "trainers/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tutti::trainers {
namespace {

using std::chrono::duration;

std::string time_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.0f} s", seconds);
  return fmt::format("{:.0f} min {:02.0f} s", std::floor(seconds / 60), std::floor(std::fmod(seconds, 60)));
}

}  // namespace

bool on_terminal() {
  if (const char* told = std::getenv("TUTTI_TERMINAL")) return std::strcmp(told, "1") == 0;
  // Under a launcher only the launcher knows.
  return isatty(STDOUT_FILENO) == 1 && !std::getenv("OMPI_COMM_WORLD_RANK") && !std::getenv("PMI_RANK");
}

Progress::Progress(bool terminal, int epochs, std::int64_t steps, std::int64_t steps_per_epoch)
    : terminal_(terminal), epochs_(epochs), steps_(steps), steps_per_epoch_(steps_per_epoch) {}

void Progress::step(int epoch, std::int64_t step, int rows, double loss) {
  rows_ += rows;
  const auto now = Clock::now();
  if (now - shown_ < (terminal_ ? std::chrono::milliseconds(200) : std::chrono::seconds(10))) return;
  shown_ = now;
  print(epoch, step, "loss", loss, terminal_);
}

void Progress::epoch(int epoch, std::int64_t step, double mean_loss) {
  shown_ = Clock::now();
  print(epoch, step, "mean loss", mean_loss, false);
}

void Progress::print(int epoch, std::int64_t step, const char* what, double loss, bool renew) {
  const double seconds = duration<double>(Clock::now() - start_).count();
  const double left = seconds / static_cast<double>(step) * static_cast<double>(steps_ - step);
  const std::string line = fmt::format("epoch {}/{}  step {}/{}  {} {:.4f}  {:.0f} samples/s  {} left", epoch, epochs_,
                                       step - (epoch - 1) * steps_per_epoch_, steps_per_epoch_, what, loss,
                                       static_cast<double>(rows_) / seconds, time_text(left));
  fmt::print("{}{}{}", terminal_ ? "\r" : "", line, terminal_ ? "\x1b[K" : "");
  if (!renew) fmt::print("\n");
  std::fflush(stdout);
}

}  // namespace tutti::trainers
