// The other ranks' side of a star of sockets, and what both sides share.
#include "collectives/bootstrap_sockets_star.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>

#include "collectives/deadline.hpp"
#include "collectives/socket_address.hpp"

namespace tutti {
namespace {

class Ray : public Star {
 public:
  Ray(int rank, int size, Descriptor connection) : Star(rank, size), connection_(std::move(connection)) {}
  ~Ray() override { end_socket(connection_); }

  void exchange(const char* name, std::span<const std::byte> mine, std::span<std::byte> all,
                double timeout_s) override {
    throw_if_failed();
    writer_.start(FrameKind::piece, exchanges_, mine);
    const Deadline deadline(timeout_s);
    std::optional<Deadline> verdict;  // how long rank 0 may take to say what is wrong
    std::vector<int> ended;
    bool centre_reads = true;
    for (;;) {
      if (centre_reads) centre_reads = writer_.write(connection_.get());
      if (answered(name, all)) return;
      if (!verdict && deadline.passed()) {
        if (centre_reads && writer_.done()) {
          const std::string text = fmt::format("{}", timeout_s);
          writer_.start(FrameKind::in_vain, exchanges_, std::as_bytes(std::span(text)));
          writer_.write(connection_.get());
        }
        verdict.emplace(kForTheVerdict);
      }
      if (!verdict && !(ended = ended_ranks_now_and_then()).empty()) verdict.emplace(kForTheVerdict);
      if (verdict && verdict->passed()) {
        if (ended.empty()) {
          give_up(ErrorCode::timeout,
                  fmt::format("{}: waited {} s for ranks 0 (and maybe others, which only rank 0 knows)", title(name),
                              timeout_s));
        }
        give_up(ErrorCode::peer_failed, fmt::format("{}: {}", title(name), note_the_ended(ended)), ended);
      }
      pollfd ready{connection_.get(), static_cast<short>(centre_reads && !writer_.done() ? POLLIN | POLLOUT : POLLIN),
                   0};
      ::poll(&ready, 1, 50);
    }
  }

  int connection() const override { return connection_.get(); }

 private:
  // Long enough for a rank 0 that has to wait for a core: it may be about to answer.
  static constexpr double kForTheVerdict = 2;  // seconds

  bool hung_up(int peer) const override {
    if (peer != 0) return false;
    pollfd end{connection_.get(), POLLRDHUP, 0};
    return ::poll(&end, 1, 0) > 0;
  }

  /// True if what all brought is in `all`; throws what rank 0 says is wrong.
  bool answered(const char* name, std::span<std::byte> all) {
    switch (reader_.read(connection_.get(), exchanges_, all.size())) {
      case FrameReader::State::waiting: return false;
      case FrameReader::State::complete: break;
      case FrameReader::State::ended:
        give_up(ErrorCode::peer_failed, fmt::format("{}: {}", title(name), note_the_ended({0})));
      case FrameReader::State::unequal:
        give_up(ErrorCode::mismatch,
                fmt::format("{}: rank 0 answers with {} bytes to exchange {}, expected {}: call the same on all ranks",
                            title(name), reader_.header().length, reader_.header().exchange, all.size()));
    }
    const std::span<const std::byte> payload = reader_.payload();
    if (reader_.header().kind != FrameKind::whole) {
      note_the_ended(reader_.ended());
      failure_ = std::make_unique<Error>(reader_.header().code, reader_.text());
      throw Error(*failure_);
    }
    std::copy(payload.begin(), payload.end(), all.begin());
    reader_.take();
    ++exchanges_;
    return true;
  }

  std::vector<int> ended_ranks_now_and_then() {
    constexpr auto kLookAround = std::chrono::milliseconds(50);
    const auto now = Deadline::Clock::now();
    if (now < next_look_) return {};
    next_look_ = now + kLookAround;
    return ended_ranks();
  }

  [[noreturn]] void give_up(ErrorCode code, const std::string& text, const std::vector<int>& ended = {}) {
    failure_ = std::make_unique<Error>(code, text);
    if (writer_.done()) {  // a frame that is half-way cannot be followed by another
      writer_.start_failure(exchanges_, code, ended, text);
      writer_.write(connection_.get());
    }
    throw Error(*failure_);
  }

  Descriptor connection_;
  FrameReader reader_;
  FrameWriter writer_;
  Deadline::Clock::time_point next_look_{};
};

}  // namespace

std::string Star::title(const char* name) const { return fmt::format("bootstrap {} number {}", name, exchanges_); }

std::string Star::note_the_ended(const std::vector<int>& ranks) {
  for (int rank : ranks) {
    if (rank >= 0 && rank < size_) ended_[static_cast<std::size_t>(rank)] = true;
  }
  return fmt::format("ranks {} have ended, they will never arrive", fmt::join(ranks, ", "));
}

std::unique_ptr<Star> star_ray(int rank, int size, Descriptor connection) {
  return std::make_unique<Ray>(rank, size, std::move(connection));
}

}  // namespace tutti
