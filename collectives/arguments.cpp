#include "collectives/arguments.hpp"

#include <fmt/format.h>

namespace tutti {
namespace {

[[noreturn]] void reject(const Request& request, int rank, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{} on rank {}: {}", name_of(request.collective), rank, what));
}

struct Extent {
  const char* begin = nullptr;
  std::size_t bytes = 0;
  bool overlaps(const Extent& other) const {
    return bytes && other.bytes && begin < other.begin + other.bytes && other.begin < begin + bytes;
  }
};

}  // namespace

void validate(const Request& request, int rank, int size) {
  if (request.collective == Collective::barrier) return;
  const bool rooted = request.collective == Collective::broadcast || request.is_message();
  if (rooted && (request.peer < 0 || request.peer >= size))
    reject(request, rank,
           fmt::format("{} {} is not a rank; there are 0 to {}", request.is_message() ? "peer" : "root", request.peer,
                       size - 1));
  if (request.is_message() && request.peer == rank)
    reject(request, rank, "a rank cannot send to or receive from itself; copy instead");
  if (request.count == 0) return;

  const auto ranks = static_cast<std::size_t>(size);
  const std::size_t width = size_of(request.type);
  if (request.count > (std::size_t{1} << 47) / width / ranks)
    reject(request, rank,
           fmt::format("{} elements are more than an address space; is the count right?", request.count));
  const std::size_t bytes = request.bytes();
  const bool gathers = request.collective == Collective::all_gather,
             scatters = request.collective == Collective::reduce_scatter;
  const Extent in{static_cast<const char*>(request.in), request.bytes_in(ranks)};
  const Extent out{static_cast<const char*>(request.out), request.bytes_out(ranks)};
  if (request.collective != Collective::recv && !in.begin) reject(request, rank, "the input is a null pointer");
  if (request.collective != Collective::send && !out.begin) reject(request, rank, "the output is a null pointer");
  if (request.is_message() || request.collective == Collective::broadcast || !in.overlaps(out)) return;

  const std::size_t own = static_cast<std::size_t>(rank) * bytes;
  const char* const in_place = gathers ? out.begin + own : scatters ? out.begin - own : out.begin;
  if (in.begin != in_place)
    reject(request, rank,
           fmt::format("input and output overlap; in place needs {}", gathers    ? "in == out + rank * count"
                                                                      : scatters ? "out == in + rank * count"
                                                                                 : "in == out"));
}

}  // namespace tutti
