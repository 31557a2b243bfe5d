#include "bench/pair_speed.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "bench/statistics.hpp"

namespace tutti::bench {
namespace {

constexpr std::size_t kSmall = 8;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// One side of a pair. The lower rank leads: it times, and tells the other how often to do what.
class Side {
 public:
  Side(Communicator& communicator, int a, int b, std::byte* memory, std::size_t bytes)
      : communicator_(communicator),
        leads_(communicator.rank() == a),
        peer_(leads_ ? b : a),
        memory_(reinterpret_cast<std::uint8_t*>(memory)),
        bytes_(bytes) {}

  long agreed(long value) {
    if (leads_) {
      communicator_.copy(memory_, &value, sizeof value);
      send(sizeof value);
    } else {
      recv(sizeof value);
      communicator_.copy(&value, memory_, sizeof value);
    }
    return value;
  }

  /// Seconds of `count` round trips of 8 bytes.
  double round_trips(long count) {
    const double begin = now();
    for (long i = 0; i < count; ++i) {
      if (leads_) send(kSmall);
      recv(kSmall);
      if (!leads_) send(kSmall);
    }
    return now() - begin;
  }

  /// Seconds of `count` messages from the leader, or to it, and of the one word that the leader needs to know when.
  double stream(long count, bool from_leader) {
    const double begin = now();
    if (!from_leader) leads_ ? send(kSmall) : recv(kSmall);
    for (long i = 0; i < count; ++i) from_leader == leads_ ? send(bytes_) : recv(bytes_);
    if (from_leader) leads_ ? recv(kSmall) : send(kSmall);
    return now() - begin;
  }

 private:
  void send(std::size_t bytes) { communicator_.send(memory_, bytes, peer_); }
  void recv(std::size_t bytes) { communicator_.recv(memory_, bytes, peer_); }

  Communicator& communicator_;
  const bool leads_;
  const int peer_;
  std::uint8_t* const memory_;
  const std::size_t bytes_;
};

long times_in(double seconds, double each) {
  return std::clamp(static_cast<long>(seconds / std::max(each, 1e-9)), 1L, 1000000L);
}

/// `times` calls, or a few less, in up to 9 batches.
struct Batches {
  explicit Batches(long times) : count(std::min(times, 9L)), size(times / count) {}
  long count, size;
};

}  // namespace

PairSpeed measure_pair(Communicator& communicator, int a, int b, std::byte* memory, std::size_t bytes, double seconds) {
  constexpr long kWarmUp = 10;
  Side side(communicator, a, b, memory, bytes);
  PairSpeed speed;

  side.round_trips(kWarmUp);
  const double trip = side.round_trips(kWarmUp) / kWarmUp;
  Batches batches(side.agreed(times_in(seconds / 3, trip)));
  std::vector<double> times;
  for (long i = 0; i < batches.count; ++i)
    times.push_back(side.round_trips(batches.size) / static_cast<double>(batches.size) / 2);
  speed.latency = median(times);
  speed.latency_least = *std::min_element(times.begin(), times.end());
  speed.latency_most = *std::max_element(times.begin(), times.end());
  speed.round_trips = batches.count * batches.size;

  for (const bool up : {true, false}) {
    side.stream(1, up);
    const double message = side.stream(1, up);
    batches = Batches(side.agreed(times_in(seconds / 3, message)));
    times.clear();
    for (long i = 0; i < batches.count; ++i)
      times.push_back(side.stream(batches.size, up) / static_cast<double>(batches.size));
    (up ? speed.bandwidth_up : speed.bandwidth_down) = static_cast<double>(bytes) / median(times);
    speed.messages += batches.count * batches.size;
  }
  return speed;
}

}  // namespace tutti::bench
