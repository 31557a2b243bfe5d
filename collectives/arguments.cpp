#include "collectives/arguments.hpp"

#include <fmt/format.h>

namespace tutti {
namespace {

[[noreturn]] void reject(const Request& request, int rank, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{} on rank {}: {}", name_of(request.collective), rank, what));
}

constexpr std::size_t kMost = std::size_t{1} << 47;  // elements, or bytes of a buffer: an address space

struct Extent {
  const char* begin = nullptr;
  std::size_t bytes = 0;
  bool overlaps(const Extent& other) const {
    return bytes && other.bytes && begin < other.begin + other.bytes && other.begin < begin + bytes;
  }
};

}  // namespace

void validate(const Request& request, int rank, int size) {
  const auto check = [&](const char* what, int value, int values) {
    if (value >= values) reject(request, rank, fmt::format("{} {} does not exist; there are {}", what, value, values));
  };
  check("data type", static_cast<int>(request.type), kDataTypes);
  check("reduction", static_cast<int>(request.op), kReduceOps);
  check("algorithm", static_cast<int>(request.algorithm), kAlgorithms);
  if (request.collective == Collective::barrier) return;
  if ((request.is_rooted() || request.is_message()) && (request.peer < 0 || request.peer >= size))
    reject(request, rank,
           fmt::format("{} {} is not a rank; there are 0 to {}", request.is_message() ? "peer" : "root", request.peer,
                       size - 1));
  if (request.is_message() && request.peer == rank)
    reject(request, rank, "a rank cannot send to or receive from itself; copy instead");
  if (request.count == 0) return;

  const auto ranks = static_cast<std::size_t>(size);
  const std::size_t width = size_of(request.type);
  if (request.count > kMost || request.count * width * ranks > kMost)
    reject(request, rank,
           fmt::format("{} elements are more than an address space; is the count right?", request.count));
  const bool has_in = request.has_in(rank), has_out = request.has_out(rank);
  if (has_in && !request.in) reject(request, rank, "the input is a null pointer");
  if (has_out && !request.out) reject(request, rank, "the output is a null pointer");
  if (!has_in || !has_out) return;

  const Extent in{static_cast<const char*>(request.in), request.bytes_in(ranks)};
  const Extent out{static_cast<const char*>(request.out), request.bytes_out(ranks)};
  if (!in.overlaps(out)) return;
  if (request.collective == Collective::all_to_all)
    reject(request, rank, "input and output overlap; in place is not possible");
  const std::size_t own = static_cast<std::size_t>(rank) * request.bytes();
  const bool gathers = request.spreads_out(), scatters = request.spreads_in();
  const char* const in_place = gathers ? out.begin + own : scatters ? out.begin - own : out.begin;
  if (in.begin != in_place)
    reject(request, rank,
           fmt::format("input and output overlap; in place needs {}", gathers    ? "in == out + rank * count"
                                                                      : scatters ? "out == in + rank * count"
                                                                                 : "in == out"));
}

void validate_group(std::span<const Request> requests, int rank) {
  for (const Request& receive : requests) {
    if (receive.collective != Collective::recv) continue;
    const Extent written{static_cast<const char*>(receive.out), receive.bytes()};
    for (const Request& other : requests) {
      if (&other == &receive) continue;
      const bool sends = other.collective == Collective::send;
      const Extent touched{static_cast<const char*>(sends ? other.in : other.out), other.bytes()};
      if (written.overlaps(touched))
        reject(receive, rank,
               fmt::format("the buffer of the receive from rank {} overlaps that of the {} rank {} in the same group",
                           receive.peer, sends ? "send to" : "receive from", other.peer));
    }
  }
}

}  // namespace tutti
