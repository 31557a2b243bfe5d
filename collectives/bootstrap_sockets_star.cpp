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
        if (centre_reads) send_text(FrameKind::in_vain, ErrorCode::timeout, fmt::format("{}", timeout_s));
        verdict.emplace(kForTheVerdict);
      }
      if (!verdict && !(ended = ended_ranks_now_and_then()).empty()) verdict.emplace(kForTheVerdict);
      if (verdict && verdict->passed()) {
        if (ended.empty()) {
          give_up(ErrorCode::timeout,
                  fmt::format("{}: waited {} s for ranks 0 (and maybe others, which only rank 0 knows)", title(name),
                              timeout_s));
        }
        give_up(ErrorCode::peer_failed,
                fmt::format("{}: ranks {} have ended, they will never arrive", title(name), fmt::join(ended, ", ")));
      }
      pollfd ready{connection_.get(), static_cast<short>(centre_reads && !writer_.done() ? POLLIN | POLLOUT : POLLIN),
                   0};
      ::poll(&ready, 1, 50);
    }
  }

  bool has_left(int peer) const override {
    if (peer != 0) return false;
    pollfd end{connection_.get(), POLLRDHUP, 0};
    return ::poll(&end, 1, 0) > 0;
  }
  int connection() const override { return connection_.get(); }

 private:
  // Long enough for a rank 0 that has to wait for a core: it may be about to answer.
  static constexpr double kForTheVerdict = 2;  // seconds

  /// True if what all brought is in `all`; throws what rank 0 says is wrong.
  bool answered(const char* name, std::span<std::byte> all) {
    switch (reader_.read(connection_.get(), exchanges_, all.size())) {
      case FrameReader::State::waiting: return false;
      case FrameReader::State::complete: break;
      case FrameReader::State::ended:
        give_up(ErrorCode::peer_failed, fmt::format("{}: ranks 0 have ended, they will never arrive", title(name)));
      case FrameReader::State::unequal:
        give_up(ErrorCode::mismatch,
                fmt::format("{}: rank 0 answers with {} bytes to exchange {}, expected {}: call the same on all ranks",
                            title(name), reader_.header().length, reader_.header().exchange, all.size()));
    }
    const std::span<const std::byte> payload = reader_.payload();
    if (reader_.header().kind != FrameKind::whole) {
      failure_ = std::make_unique<Error>(reader_.header().code,
                                         std::string(reinterpret_cast<const char*>(payload.data()), payload.size()));
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

  /// The rest of an unfinished frame goes first, if it can.
  void send_text(FrameKind kind, ErrorCode code, const std::string& text) {
    if (!writer_.done()) return;
    writer_.start(kind, exchanges_, std::as_bytes(std::span(text)), code);
    writer_.write(connection_.get());
  }

  [[noreturn]] void give_up(ErrorCode code, const std::string& text) {
    failure_ = std::make_unique<Error>(code, text);
    send_text(FrameKind::failure, code, text);
    throw Error(*failure_);
  }

  Descriptor connection_;
  FrameReader reader_;
  FrameWriter writer_;
  Deadline::Clock::time_point next_look_{};
};

}  // namespace

std::string Star::title(const char* name) const { return fmt::format("bootstrap {} number {}", name, exchanges_); }

std::unique_ptr<Star> star_ray(int rank, int size, Descriptor connection) {
  return std::make_unique<Ray>(rank, size, std::move(connection));
}

}  // namespace tutti
