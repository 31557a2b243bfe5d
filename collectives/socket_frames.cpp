#include "collectives/socket_frames.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tutti {
namespace {

constexpr std::uint32_t kMark = 0x74757474;
constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kMostEnded = 256;

/// What recv or send made of one try: bytes, 0 if it would have to wait, -1 if the connection is over.
std::ptrdiff_t outcome(ssize_t result, bool reads) {
  if (result > 0) return result;
  if (result == 0) return reads ? -1 : 0;
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOBUFS ? 0 : -1;
}

}  // namespace

void FrameWriter::start(const FrameHeader& header, std::span<const std::byte> payload) {
  bytes_.resize(sizeof header + payload.size());
  std::memcpy(bytes_.data(), &header, sizeof header);
  std::copy(payload.begin(), payload.end(), bytes_.begin() + sizeof header);
  written_ = 0;
}

void FrameWriter::start(FrameKind kind, std::uint64_t exchange, std::span<const std::byte> payload) {
  start({kMark, kind, exchange, payload.size(), {}, 0}, payload);
}

void FrameWriter::start_failure(std::uint64_t exchange, ErrorCode code, const std::vector<int>& ended,
                                const std::string& text) {
  const std::vector<std::int32_t> ranks(
      ended.begin(), ended.begin() + static_cast<std::ptrdiff_t>(std::min(ended.size(), kMostEnded)));
  const auto named = std::as_bytes(std::span(ranks));
  std::vector<std::byte> payload(named.begin(), named.end());
  const auto words = std::as_bytes(std::span(text)).first(std::min(text.size(), kLongestText));
  payload.insert(payload.end(), words.begin(), words.end());
  start({kMark, FrameKind::failure, exchange, payload.size(), code, static_cast<std::uint32_t>(ranks.size())}, payload);
}

bool FrameWriter::write(int connection) {
  while (!done()) {
    const std::ptrdiff_t sent = outcome(
        ::send(connection, bytes_.data() + written_, bytes_.size() - written_, MSG_NOSIGNAL | MSG_DONTWAIT), false);
    if (sent < 0) return false;
    if (sent == 0) return true;
    written_ += static_cast<std::size_t>(sent);
  }
  return true;
}

FrameReader::State FrameReader::read_header(int connection, std::uint64_t exchange, std::size_t length) {
  while (read_ < sizeof header_) {
    const std::ptrdiff_t got = outcome(
        ::recv(connection, reinterpret_cast<char*>(&header_) + read_, sizeof header_ - read_, MSG_DONTWAIT), true);
    if (got < 0) return State::ended;
    if (got == 0) return State::waiting;
    read_ += static_cast<std::size_t>(got);
  }
  if (header_.mark != kMark) return State::ended;
  const bool is_text = header_.kind == FrameKind::failure || header_.kind == FrameKind::in_vain;
  const std::size_t named = header_.ended * sizeof(std::int32_t);
  if (is_text && (header_.ended > kMostEnded || header_.length < named || header_.length - named > kLongestText)) {
    return State::ended;
  }
  if (!is_text && (header_.exchange != exchange || header_.length != length)) return State::unequal;
  payload_.resize(static_cast<std::size_t>(header_.length));
  return State::complete;
}

std::vector<int> FrameReader::ended() const {
  std::vector<std::int32_t> ranks(header_.ended);
  if (!ranks.empty()) std::memcpy(ranks.data(), payload_.data(), ranks.size() * sizeof(std::int32_t));
  return {ranks.begin(), ranks.end()};
}

std::string FrameReader::text() const {
  const std::span<const std::byte> words = std::span(payload_).subspan(header_.ended * sizeof(std::int32_t));
  return std::string(reinterpret_cast<const char*>(words.data()), words.size());
}

FrameReader::State FrameReader::read(int connection, std::uint64_t exchange, std::size_t length) {
  if (read_ < sizeof header_) {
    if (const State state = read_header(connection, exchange, length); state != State::complete) return state;
  }
  while (read_ < sizeof header_ + payload_.size()) {
    const std::size_t at = read_ - sizeof header_;
    const std::ptrdiff_t got =
        outcome(::recv(connection, payload_.data() + at, payload_.size() - at, MSG_DONTWAIT), true);
    if (got < 0) return State::ended;
    if (got == 0) return State::waiting;
    read_ += static_cast<std::size_t>(got);
  }
  return State::complete;
}

}  // namespace tutti
