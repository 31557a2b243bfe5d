// What a GPU's kernels leave when they fail becomes the same messages as on the CPU.
#include "collectives/failure_message_cuda.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collectives/choose.hpp"

namespace tutti {
namespace {

constexpr int kRanks = 4;
constexpr int kMe = 1;

/// The records of two blocks of rank 1 in its call 7, a barrier.
class FailureRecords : public testing::Test {
 protected:
  FailureRecord& at(int block, int peer, WaitFailure end, Purpose purpose = Purpose::enter) {
    FailureRecord& record = records_[static_cast<std::size_t>(block * kRanks + peer)];
    record.kind = static_cast<std::uint64_t>(end);
    record.purpose = static_cast<std::uint64_t>(purpose);
    record.number = 7;
    record.description = barrier_;
    record.wanted = 1;
    record.their_number = 5;
    record.their_description = barrier_;
    return record;
  }
  void expect(ErrorCode code, const std::string& text) {
    const Error error = explain(records_, kMe, kRanks, std::chrono::seconds(2));
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos)
        << "expected " << text << "\ngot " << error.what();
  }
  const Description barrier_ = describe(Request{}, Plan{}, 1);
  std::vector<FailureRecord> records_ = std::vector<FailureRecord>(2 * kRanks);
};

TEST_F(FailureRecords, OfATimeOutNameEveryAbsentRankAndWhatItLastSaid) {
  at(1, 0, WaitFailure::timeout);
  at(1, 3, WaitFailure::timeout).their_number = 0;
  expect(ErrorCode::timeout,
         "rank 1, call 7 (barrier, by direct): ranks 0 and 3's arrival did not come within 2 s (count 1 wanted, 0 seen "
         "of rank 0); "
         "rank 0 was last in collective call 5 (barrier, by direct); rank 3 has not called any collective");
}

TEST_F(FailureRecords, OfAMessageNameItsPeer) {
  FailureRecord& record = at(0, 2, WaitFailure::timeout, Purpose::p2p_data);
  record.number = 0;
  record.description = describe(Request{.collective = Collective::send, .count = 3}, Plan{}, 1);
  record.elements = 3;
  expect(ErrorCode::timeout, "rank 1, receive from rank 2 (f32, 3 elements): rank 2's data did not come");
}

TEST_F(FailureRecords, OfPacketsSayPacket) {
  at(0, 2, WaitFailure::timeout).purpose = kPacketPurpose;
  expect(ErrorCode::timeout, "rank 2's packet did not come within 2 s");
}

TEST_F(FailureRecords, OfAMismatchExplainMoreThanTimeOuts) {
  at(0, 0, WaitFailure::timeout);
  at(1, 2, WaitFailure::mismatch).their_number = 6;
  expect(ErrorCode::mismatch,
         "rank 1, call 7 (barrier, by direct): rank 2 called (its call 6) barrier, by direct instead");
}

TEST_F(FailureRecords, TellAPeerThatFailedFromAnotherCallThatFailedHere) {
  at(0, 3, WaitFailure::failed_here);
  expect(ErrorCode::peer_failed, "another call of this rank's communicator failed first");
  at(1, 0, WaitFailure::peer_failed);
  expect(ErrorCode::peer_failed, "rank 0 failed first");
}

TEST_F(FailureRecords, OfADestroyedBufferSayWhose) {
  at(0, 3, WaitFailure::unmapped);
  expect(ErrorCode::invalid_argument, "rank 3 uses a buffer");
}

}  // namespace
}  // namespace tutti
