#include "bench/demo_lecture.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "bench/bandwidth.hpp"
#include "bench/sizes.hpp"
#include "bench/stopwatch.hpp"
#include "bench/tensor.hpp"

namespace tutti::bench {
namespace {

constexpr int kSamples = 5;

std::string with_commas(std::size_t value) {
  std::string digits = fmt::format("{}", value);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

// "12.3", or "-" for what has no such figure.
std::string figure(double bytes_per_second, double unit) {
  return bytes_per_second > 0 ? fmt::format("{:.2f}", bytes_per_second / unit) : "-";
}

std::string row(Operation operation, int ranks, std::size_t in, std::size_t out, double seconds) {
  const bool in_lecture = operation != Operation::all_gather;
  const double lecture = in_lecture ? lecture_figure(operation, ranks, out, seconds) : 0;
  const std::size_t size = std::max(in, out);
  const double alg = algbw(size, seconds), bus = busbw(operation, ranks, size, seconds);
  return fmt::format("  {:<15}{:>9}{:>9}{:>10}   {:>7}{:>7}   {:>7}{:>7}   {:>7}{:>7}\n", name_of(operation),
                     readable_bytes(static_cast<double>(in)), readable_bytes(static_cast<double>(out)),
                     readable_duration(seconds), figure(lecture, kGB), figure(lecture, kGiB), figure(alg, kGB),
                     figure(alg, kGiB), figure(bus, kGB), figure(bus, kGiB));
}

}  // namespace

double lecture_bytes(int ranks, std::size_t elements) {
  return static_cast<double>(ranks) * (ranks + 1) * static_cast<double>(elements) * sizeof(float);
}

bool show_lecture_benchmark(Session& session, std::size_t elements, InOrder& out) {
  const int ranks = session.size();
  const auto n = static_cast<std::size_t>(ranks);
  const std::size_t bytes = elements * sizeof(float), part = elements / n;
  Communicator comm = session.communicator();
  Tensor tensor(comm, elements), parts(comm, n * elements);
  Stopwatch watch(session, comm, kSamples);

  out.once(
      fmt::format("The lecture's benchmark: {} f32 ({}) on each of {} rank{}, backend {}\n"
                  "One warm-up, then the median of {} calls; the slowest rank counts.\n\n",
                  with_commas(elements), readable_bytes(static_cast<double>(bytes)), ranks, ranks > 1 ? "s" : "",
                  name_of(comm.backend()), kSamples));

  const auto ones = [](Tensor& filled, std::size_t count) { return [&filled, count] { filled.fill(count, 1.0f); }; };
  const auto sum = static_cast<float>(ranks);
  bool right = true;

  const double all_reduce = watch.time(ones(tensor, elements),
                                       [&] { comm.all_reduce(tensor.data(), tensor.data(), elements, ReduceOp::sum); });
  right = right && tensor.holds(elements, sum);
  const double reduce_scatter = watch.time(
      ones(parts, n * elements), [&] { comm.reduce_scatter(parts.data(), tensor.data(), elements, ReduceOp::sum); });
  right = right && tensor.holds(elements, sum);
  const double all_gather =
      watch.time(ones(tensor, elements), [&] { comm.all_gather(tensor.data(), parts.data(), elements); });
  right = right && parts.holds(n * elements, 1.0f);
  // The two halves of an all_reduce of the same tensor.
  const double first_half = watch.time(ones(tensor, elements),
                                       [&] { comm.reduce_scatter(tensor.data(), parts.data(), part, ReduceOp::sum); });
  const double second_half = watch.time(ones(parts, part), [&] { comm.all_gather(parts.data(), tensor.data(), part); });
  const std::vector<char> good = session.bootstrap_all_gather(static_cast<char>(right));
  right = std::count(good.begin(), good.end(), 0) == 0;

  std::string text;
  text += fmt::format("  {:<15}{:>9}{:>9}{:>10}   {:>14}   {:>14}   {:>14}\n", "", "input", "output", "time",
                      "the lecture's", "algbw", "busbw");
  text += fmt::format("  {:<43}   {:>7}{:>7}   {:>7}{:>7}   {:>7}{:>7}\n", "", "GB/s", "GiB/s", "GB/s", "GiB/s", "GB/s",
                      "GiB/s");
  text += row(Operation::all_reduce, ranks, bytes, bytes, all_reduce);
  text += row(Operation::reduce_scatter, ranks, n * bytes, bytes, reduce_scatter);
  text += row(Operation::all_gather, ranks, bytes, n * bytes, all_gather);
  const int example = ranks > 1 ? ranks : 4;
  text += fmt::format(
      "\n  On four GPUs the lecture's figures were 277 for all_reduce and 70 for reduce_scatter, and the gap was a "
      "riddle.\n"
      "  Its formula takes the bytes of the output, but reduce_scatter has to move its input, on {} ranks {}x as "
      "large, so its\n"
      "  figure is {}x too small. busbw takes the same bytes for both and shows how close they are. (The lecture also\n"
      "  divided by 2^30 and said GB/s: that unit is GiB/s, and the figure in GB/s is 7.4 % larger.)\n",
      example, example, example);
  text += fmt::format(
      "\n  Halves of the same {} tensor: reduce_scatter {} + all_gather {} = {}; all_reduce takes {}.\n"
      "  An all_reduce is these two, one after the other; done in one pass it need not store the sums in between.\n",
      readable_bytes(static_cast<double>(bytes)), readable_duration(first_half), readable_duration(second_half),
      readable_duration(first_half + second_half), readable_duration(all_reduce));
  if (!right) text += "  WRONG: a result differs from the sum of ones.\n";
  out.once(text);
  return right;
}

}  // namespace tutti::bench
