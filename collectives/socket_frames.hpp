// Messages of the sockets bootstrap as they cross a connection, in pieces of any size, without waiting.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collectives/error.hpp"

namespace tutti {

enum class FrameKind : std::uint32_t {
  piece,    ///< what a rank brings to an exchange
  whole,    ///< what all brought, in rank order
  failure,  ///< the sender's bootstrap has failed: the text says why
  in_vain,  ///< the sender waited as long as it may: the text says how long
};

struct FrameHeader {
  std::uint32_t mark;
  FrameKind kind;
  std::uint64_t exchange;  ///< its number
  std::uint64_t length;    ///< bytes that follow
  ErrorCode code;          ///< of a failure
  std::uint32_t ended;     ///< of a failure: so many ranks (int32) come before the text, which are known to have ended
};

/// One frame on its way out.
class FrameWriter {
 public:
  void start(FrameKind kind, std::uint64_t exchange, std::span<const std::byte> payload);
  void start_failure(std::uint64_t exchange, ErrorCode code, const std::vector<int>& ended, const std::string& text);
  /// Writes what fits. False if nobody can read it any more.
  bool write(int connection);
  bool done() const { return written_ == bytes_.size(); }
  /// Nothing of it has been written, or all: another frame may follow.
  bool between_frames() const { return written_ == 0 || done(); }

 private:
  void start(const FrameHeader& header, std::span<const std::byte> payload);

  std::vector<std::byte> bytes_;
  std::size_t written_ = 0;
};

/// One frame on its way in.
class FrameReader {
 public:
  enum class State {
    waiting,   ///< there is more to come
    complete,  ///< header() and payload() hold a frame; take() makes room for the next
    unequal,   ///< a piece of another length, or of another exchange, than expected; header() tells
    ended,     ///< the other end closed, or sent what no frame is
  };
  /// Reads what has come of a frame that belongs to `exchange` and has `length` bytes if it is no failure.
  State read(int connection, std::uint64_t exchange, std::size_t length);
  const FrameHeader& header() const { return header_; }
  std::span<const std::byte> payload() const { return payload_; }
  /// Of a failure or a wait in vain.
  std::string text() const;
  std::vector<int> ended() const;
  void take() { read_ = 0; }

 private:
  State read_header(int connection, std::uint64_t exchange, std::size_t length);

  FrameHeader header_{};
  std::vector<std::byte> payload_;
  std::size_t read_ = 0;  // bytes of header and payload
};

}  // namespace tutti
