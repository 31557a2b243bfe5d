// Rank 0's side of a star of sockets.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>

#include "collectives/bootstrap_sockets_star.hpp"
#include "collectives/deadline.hpp"
#include "collectives/socket_address.hpp"

namespace tutti {
namespace {

class Centre : public Star {
 public:
  explicit Centre(std::vector<Descriptor> connections)
      : Star(0, static_cast<int>(connections.size()) + 1), links_(connections.size()) {
    for (std::size_t i = 0; i < links_.size(); ++i) links_[i].connection = std::move(connections[i]);
  }
  ~Centre() override {
    for (Link& link : links_) end_socket(link.connection);
  }

  void exchange(const char* name, std::span<const std::byte> mine, std::span<std::byte> all,
                double timeout_s) override {
    throw_if_failed();
    for (Link& link : links_) link.arrived = false;
    const Deadline deadline(timeout_s);
    std::copy(mine.begin(), mine.end(), all.begin());
    gather(name, mine.size(), all, deadline, timeout_s);
    for (Link& link : links_) link.writer.start(FrameKind::whole, exchanges_, all);
    ++exchanges_;
    answer(name, deadline, timeout_s);
  }

  int connection() const override { return links_.empty() ? -1 : links_.front().connection.get(); }

 private:
  bool hung_up(int peer) const override {
    if (peer == 0) return false;
    pollfd end{links_[static_cast<std::size_t>(peer) - 1].connection.get(), POLLRDHUP, 0};
    return ::poll(&end, 1, 0) > 0;
  }

  struct Link {
    Descriptor connection;
    FrameReader reader;
    FrameWriter writer;
    bool arrived = false;  // at the exchange under way
    bool lost = false;     // nobody reads its other end
  };
  /// What is known so far to be wrong; all that has come is read before anything is said of it.
  struct Trouble {
    std::vector<int> ended;
    std::string in_vain;
    std::string unequal;
    std::unique_ptr<Error> failure;
    std::vector<int> told_ended;  // by the rank that failed
  };

  void gather(const char* name, std::size_t length, std::span<std::byte> all, const Deadline& deadline,
              double timeout_s) {
    constexpr auto kLookAround = std::chrono::milliseconds(50);
    auto next_look = Deadline::Clock::now() + kLookAround;
    bool someone_ended = false;
    for (;;) {
      Trouble trouble;
      for (std::size_t i = 0; i < links_.size(); ++i) read(i, length, all, trouble);
      throw_if_hopeless(name, trouble);
      if (absent().empty()) return;
      if (!trouble.in_vain.empty()) {
        give_up(ErrorCode::timeout,
                fmt::format("{}: {} for ranks {}", title(name), trouble.in_vain, fmt::join(absent(), ", ")));
      }
      if (deadline.passed()) {
        give_up(ErrorCode::timeout,
                fmt::format("{}: waited {} s for ranks {}", title(name), timeout_s, fmt::join(absent(), ", ")));
      }
      wait(POLLIN);
      if (Deadline::Clock::now() < next_look) continue;
      next_look = Deadline::Clock::now() + kLookAround;
      // A connection tells when its rank ends, unless another process holds a copy of it. What the rank sent before may
      // still be unread: look once more.
      const std::vector<int> ended = ended_ranks();
      if (!ended.empty() && someone_ended) say_they_ended(name, ended);
      someone_ended = !ended.empty();
    }
  }

  void read(std::size_t i, std::size_t length, std::span<std::byte> all, Trouble& trouble) {
    Link& link = links_[i];
    const int rank = static_cast<int>(i) + 1;
    for (;;) {
      switch (link.reader.read(link.connection.get(), exchanges_, length)) {
        case FrameReader::State::waiting: return;
        case FrameReader::State::ended: trouble.ended.push_back(rank); return;
        case FrameReader::State::unequal: {
          const FrameHeader& theirs = link.reader.header();
          trouble.unequal = fmt::format("rank {} brings {} bytes to exchange {}, rank 0 {} to {}", rank, theirs.length,
                                        theirs.exchange, length, exchanges_);
          return;
        }
        case FrameReader::State::complete: break;
      }
      if (link.reader.header().kind == FrameKind::failure) {
        trouble.failure = std::make_unique<Error>(link.reader.header().code, link.reader.text());
        trouble.told_ended = link.reader.ended();
        return;
      }
      if (link.reader.header().kind == FrameKind::in_vain) {
        // Of an exchange that did end, it is out of date.
        if (link.reader.header().exchange == exchanges_)
          trouble.in_vain = fmt::format("rank {} waited {} s", rank, link.reader.text());
        link.reader.take();
        continue;
      }
      if (link.arrived || link.reader.header().kind != FrameKind::piece) {
        trouble.ended.push_back(rank);  // that is no rank any more
        return;
      }
      const std::span<const std::byte> payload = link.reader.payload();
      std::copy(payload.begin(), payload.end(), all.begin() + static_cast<std::ptrdiff_t>((i + 1) * length));
      link.arrived = true;
      link.reader.take();
    }
  }

  void throw_if_hopeless(const char* name, const Trouble& trouble) {
    if (trouble.failure != nullptr) give_up(trouble.failure->code(), trouble.failure->what(), trouble.told_ended);
    if (!trouble.ended.empty()) say_they_ended(name, trouble.ended);
    if (trouble.unequal.empty()) return;
    give_up(ErrorCode::mismatch, fmt::format("{}: {}: call the same on all ranks", title(name), trouble.unequal));
  }

  /// Sends everyone what was gathered. A rank that has ended does not keep the others from it: the next exchange
  /// notices.
  void answer(const char* name, const Deadline& deadline, double timeout_s) {
    for (;;) {
      std::vector<int> waiting;
      for (std::size_t i = 0; i < links_.size(); ++i) {
        Link& link = links_[i];
        link.lost = link.lost || !link.writer.write(link.connection.get());
        if (!link.lost && !link.writer.done()) waiting.push_back(static_cast<int>(i) + 1);
      }
      if (waiting.empty()) return;
      if (deadline.passed()) {
        give_up(ErrorCode::timeout, fmt::format("{}: waited {} s for ranks {} to take what was gathered", title(name),
                                                timeout_s, fmt::join(waiting, ", ")));
      }
      wait(POLLOUT);
    }
  }

  /// Until a link that is still needed can be read or written, but not long.
  void wait(short event) {
    std::vector<pollfd> watched;
    for (const Link& link : links_) {
      const bool writes = event == POLLOUT;
      if (writes && (link.lost || link.writer.done())) continue;
      watched.push_back({link.connection.get(), event, 0});
    }
    ::poll(watched.data(), watched.size(), 50);
  }

  std::vector<int> absent() const {
    std::vector<int> ranks;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      if (!links_[i].arrived) ranks.push_back(static_cast<int>(i) + 1);
    }
    return ranks;
  }

  [[noreturn]] void say_they_ended(const char* name, const std::vector<int>& ended) {
    give_up(ErrorCode::peer_failed, fmt::format("{}: {}", title(name), note_the_ended(ended)), ended);
  }

  [[noreturn]] void give_up(ErrorCode code, const std::string& text, const std::vector<int>& ended = {}) {
    note_the_ended(ended);
    failure_ = std::make_unique<Error>(code, text);
    for (Link& link : links_) {
      if (link.lost || !link.writer.between_frames()) continue;
      link.writer.start_failure(exchanges_, code, ended, text);
      link.writer.write(link.connection.get());
    }
    throw Error(*failure_);
  }

  std::vector<Link> links_;
};

}  // namespace

std::unique_ptr<Star> star_centre(std::vector<Descriptor> connections) {
  return std::make_unique<Centre>(std::move(connections));
}

}  // namespace tutti
