#include "collectives/backend_mpi.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "collectives/error.hpp"
#include "kernels/half.hpp"

namespace tutti {
namespace {

std::unique_ptr<Bootstrap> job;
/// The backend as it is, and one whose calls cover 200 elements at most.
std::unique_ptr<Backend> backends[2];

constexpr std::size_t kCounts[] = {0, 1, 7, 64, 1003};
constexpr ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max, ReduceOp::avg};

/// Small whole numbers whose sums and products are exact in every type, and negative where the type has them.
template <class T>
std::int64_t number(int rank, std::size_t i, ReduceOp op) {
  constexpr bool has_sign = std::is_signed_v<T> || !std::is_integral_v<T>;
  const auto mix = static_cast<std::int64_t>((i * 5 + static_cast<std::size_t>(rank) * 3) % 7);
  if (op == ReduceOp::prod) return has_sign ? (mix % 2 == 0 ? 1 : -2) : 1 + mix % 2;
  if (op == ReduceOp::avg && std::is_integral_v<T> && sizeof(T) == 1) return 100 + mix;  // the sum exceeds T
  return has_sign ? mix * 3 - 8 : mix * 3;
}

template <class T>
T make(double value) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    return from_float<T>(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
T expected(std::size_t i, ReduceOp op) {
  std::int64_t all = number<T>(0, i, op);
  for (int rank = 1; rank < job->size(); ++rank) {
    const std::int64_t next = number<T>(rank, i, op);
    switch (op) {
      case ReduceOp::prod: all *= next; break;
      case ReduceOp::min: all = std::min(all, next); break;
      case ReduceOp::max: all = std::max(all, next); break;
      default: all += next;
    }
  }
  if (op != ReduceOp::avg) return make<T>(static_cast<double>(all));
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(all / job->size());
  } else if constexpr (std::is_same_v<T, double>) {
    return static_cast<double>(all) / job->size();
  } else {
    return make<T>(static_cast<float>(all) / static_cast<float>(job->size()));
  }
}

/// `count` elements with a guard on both sides, `offset` bytes away from alignment.
template <class T>
class Elements {
 public:
  Elements(std::size_t count, std::size_t offset)
      : count_(count), bytes_(count * sizeof(T) + 2 * kGuard + offset, kMark) {
    start_ = bytes_.data() + kGuard + offset;
  }
  void* data(std::size_t i = 0) { return start_ + i * sizeof(T); }
  void set(std::size_t i, T value) { std::memcpy(data(i), &value, sizeof value); }
  T get(std::size_t i) {
    T value;
    std::memcpy(&value, data(i), sizeof value);
    return value;
  }
  testing::AssertionResult is(std::size_t i, T value) {
    const T got = get(i);
    if (std::memcmp(&got, &value, sizeof value) == 0) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "rank " << job->rank() << " of " << job->size() << " index " << i
                                       << ": expected " << printed(value) << ", got " << printed(got);
  }
  bool guards_stand() const {
    const char* const end = start_ + count_ * sizeof(T);
    return std::all_of(bytes_.data(), static_cast<const char*>(start_), [](char c) { return c == kMark; }) &&
           std::all_of(end, bytes_.data() + bytes_.size(), [](char c) { return c == kMark; });
  }

 private:
  static constexpr std::size_t kGuard = 64;
  static constexpr char kMark = 0x5a;
  static double printed(T value) {
    if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
      return to_float(value);
    } else {
      return static_cast<double>(value);
    }
  }
  std::size_t count_;
  std::vector<char> bytes_;
  char* start_;
};

/// How a call is made: by which backend, blocking or not, in place or not, aligned or not.
struct Way {
  int backend;
  bool async;
  bool in_place;
  std::size_t offset;
};

std::ostream& operator<<(std::ostream& out, const Way& way) {
  return out << (way.backend == 1 ? "in pieces" : "whole") << (way.async ? ", async" : "")
             << (way.in_place ? ", in place" : "") << ", offset " << way.offset;
}

void call(const Way& way, const Request& request) {
  Backend& backend = *backends[way.backend];
  if (!way.async) {
    backend.run(request);
    return;
  }
  const auto operation = backend.start(request);
  if (request.count % 2 == 0) {
    while (!operation->test()) {
    }
  }
  operation->wait();
}

/// body(T{}, way, count) for every type, way and count.
template <class F>
void for_all(F&& body) {
  for (int t = 0; t < kDataTypes; ++t) {
    const auto type = static_cast<DataType>(t);
    for (int bits = 0; bits < 8; ++bits) {
      const Way way{bits & 1, (bits & 2) != 0, (bits & 4) != 0, (bits + t) % 3 == 0 ? std::size_t{1} : 0};
      for (std::size_t count : kCounts) {
        SCOPED_TRACE(testing::Message() << name_of(type) << " x " << count << ", " << way);
        dispatch(type, [&](auto tag) { body(typename decltype(tag)::type{}, way, count); });
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(MpiBackend, AllReducesExactlyInEveryTypeOperatorAndWay) {
  for (ReduceOp op : kOps) {
    SCOPED_TRACE(name_of(op));
    for_all([op](auto zero, const Way& way, std::size_t count) {
      using T = decltype(zero);
      Elements<T> in(count, way.offset), out(count, way.offset);
      for (std::size_t i = 0; i < count; ++i) in.set(i, make<T>(static_cast<double>(number<T>(job->rank(), i, op))));
      Elements<T>& result = way.in_place ? in : out;
      call(way, {.collective = Collective::all_reduce,
                 .in = in.data(),
                 .out = result.data(),
                 .count = count,
                 .type = data_type_v<T>,
                 .op = op});
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_TRUE(result.is(i, expected<T>(i, op)));
        if (!way.in_place) {
          ASSERT_TRUE(in.is(i, make<T>(static_cast<double>(number<T>(job->rank(), i, op)))));
        }
      }
      ASSERT_TRUE(in.guards_stand() && out.guards_stand());
    });
  }
}

TEST(MpiBackend, ReduceScattersExactlyInEveryTypeOperatorAndWay) {
  const auto ranks = static_cast<std::size_t>(job->size());
  const auto me = static_cast<std::size_t>(job->rank());
  for (ReduceOp op : kOps) {
    SCOPED_TRACE(name_of(op));
    for_all([&](auto zero, const Way& way, std::size_t count) {
      using T = decltype(zero);
      Elements<T> in(count * ranks, way.offset), out(count, way.offset);
      for (std::size_t i = 0; i < count * ranks; ++i) {
        in.set(i, make<T>(static_cast<double>(number<T>(job->rank(), i, op))));
      }
      call(way, {.collective = Collective::reduce_scatter,
                 .in = in.data(),
                 .out = way.in_place ? in.data(me * count) : out.data(),
                 .count = count,
                 .type = data_type_v<T>,
                 .op = op});
      for (std::size_t i = 0; i < count * ranks; ++i) {
        const bool mine = i / count == me;
        const T result = expected<T>(i, op);
        if (mine && !way.in_place) {
          ASSERT_TRUE(out.is(i - me * count, result));
        }
        const bool replaced = mine && way.in_place;
        ASSERT_TRUE(in.is(i, replaced ? result : make<T>(static_cast<double>(number<T>(job->rank(), i, op)))));
      }
      ASSERT_TRUE(in.guards_stand() && out.guards_stand());
    });
  }
}

TEST(MpiBackend, AllGathersInEveryTypeAndWay) {
  const auto ranks = static_cast<std::size_t>(job->size());
  const auto me = static_cast<std::size_t>(job->rank());
  for_all([&](auto zero, const Way& way, std::size_t count) {
    using T = decltype(zero);
    const auto element = [&](std::size_t rank, std::size_t i) {
      return make<T>(static_cast<double>((rank * 31 + i) % 100));
    };
    Elements<T> in(count, way.offset), out(count * ranks, way.offset);
    for (std::size_t i = 0; i < count; ++i)
      (way.in_place ? out : in).set(way.in_place ? me * count + i : i, element(me, i));
    call(way, {.collective = Collective::all_gather,
               .in = way.in_place ? out.data(me * count) : in.data(),
               .out = out.data(),
               .count = count,
               .type = data_type_v<T>});
    for (std::size_t i = 0; i < count * ranks; ++i) ASSERT_TRUE(out.is(i, element(i / count, i % count)));
    ASSERT_TRUE(in.guards_stand() && out.guards_stand());
  });
}

TEST(MpiBackend, BroadcastsFromEveryRootInEveryTypeAndWay) {
  for (int root = 0; root < job->size(); ++root) {
    SCOPED_TRACE(testing::Message() << "root " << root);
    for_all([&](auto zero, const Way& way, std::size_t count) {
      using T = decltype(zero);
      const auto element = [&](int rank, std::size_t i) { return make<T>(static_cast<double>((rank * 31 + i) % 100)); };
      Elements<T> data(count, way.offset);
      for (std::size_t i = 0; i < count; ++i) data.set(i, element(job->rank(), i));
      call(way, {.collective = Collective::broadcast,
                 .in = data.data(),
                 .out = data.data(),
                 .count = count,
                 .type = data_type_v<T>,
                 .peer = root});
      for (std::size_t i = 0; i < count; ++i) ASSERT_TRUE(data.is(i, element(root, i)));
      ASSERT_TRUE(data.guards_stand());
    });
  }
}

TEST(MpiBackend, ReducesToEveryRootExactlyInEveryTypeOperatorAndWay) {
  for (ReduceOp op : kOps) {
    const int root = static_cast<int>(op) % job->size();
    SCOPED_TRACE(testing::Message() << name_of(op) << " to root " << root);
    for_all([&](auto zero, const Way& way, std::size_t count) {
      using T = decltype(zero);
      const auto input = [&](std::size_t i) { return make<T>(static_cast<double>(number<T>(job->rank(), i, op))); };
      const bool here = job->rank() == root;
      Elements<T> in(count, way.offset), out(count, way.offset);
      for (std::size_t i = 0; i < count; ++i) {
        in.set(i, input(i));
        out.set(i, make<T>(99));
      }
      Elements<T>& result = way.in_place && here ? in : out;
      const bool null = !here && count % 2 == 1;
      call(way, {.collective = Collective::reduce,
                 .in = in.data(),
                 .out = null ? nullptr : result.data(),
                 .count = count,
                 .type = data_type_v<T>,
                 .op = op,
                 .peer = root});
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_TRUE(result.is(i, here ? expected<T>(i, op) : make<T>(99)));
        if (&result == &out) {
          ASSERT_TRUE(in.is(i, input(i)));
        }
      }
      ASSERT_TRUE(in.guards_stand() && out.guards_stand());
    });
  }
}

/// Element i of what rank `from` has for rank `to`.
template <class T>
T sent(std::size_t from, std::size_t to, std::size_t i) {
  return make<T>(static_cast<double>((from * 31 + to * 7 + i) % 100));
}

TEST(MpiBackend, GathersToEveryRootInEveryTypeAndWay) {
  const auto ranks = static_cast<std::size_t>(job->size());
  const auto me = static_cast<std::size_t>(job->rank());
  for (std::size_t root = 0; root < ranks; ++root) {
    SCOPED_TRACE(testing::Message() << "root " << root);
    for_all([&](auto zero, const Way& way, std::size_t count) {
      using T = decltype(zero);
      Elements<T> in(count, way.offset), out(count * ranks, way.offset);
      const bool in_place = way.in_place && me == root;
      // Off the root the output means nothing, wherever it points: here as if it were in place.
      const bool null = me != root && count % 2 == 1;
      for (std::size_t i = 0; i < count * ranks; ++i) out.set(i, make<T>(101));
      for (std::size_t i = 0; i < count; ++i)
        (in_place ? out : in).set(in_place ? me * count + i : i, sent<T>(me, root, i));
      const bool looks_in_place = way.in_place && me != root && !null;
      if (looks_in_place)
        for (std::size_t i = 0; i < count; ++i) out.set(me * count + i, sent<T>(me, root, i));
      call(way, {.collective = Collective::gather,
                 .in = in_place || looks_in_place ? out.data(me * count) : in.data(),
                 .out = null ? nullptr : out.data(),
                 .count = count,
                 .type = data_type_v<T>,
                 .peer = static_cast<int>(root)});
      for (std::size_t i = 0; i < count * ranks; ++i) {
        const bool own = looks_in_place && i / count == me;
        ASSERT_TRUE(out.is(i, me == root || own ? sent<T>(i / count, root, i % count) : make<T>(101)));
      }
      ASSERT_TRUE(in.guards_stand() && out.guards_stand());
    });
  }
}

TEST(MpiBackend, ScattersFromEveryRootInEveryTypeAndWay) {
  const auto ranks = static_cast<std::size_t>(job->size());
  const auto me = static_cast<std::size_t>(job->rank());
  for (std::size_t root = 0; root < ranks; ++root) {
    SCOPED_TRACE(testing::Message() << "root " << root);
    for_all([&](auto zero, const Way& way, std::size_t count) {
      using T = decltype(zero);
      Elements<T> in(count * ranks, way.offset), out(count, way.offset);
      const bool in_place = way.in_place && me == root;
      const bool null = me != root && count % 2 == 1;
      for (std::size_t i = 0; i < count * ranks; ++i) in.set(i, sent<T>(me, i / count, i % count));
      call(way, {.collective = Collective::scatter,
                 .in = null ? nullptr : in.data(),
                 .out = in_place ? in.data(me * count) : out.data(),
                 .count = count,
                 .type = data_type_v<T>,
                 .peer = static_cast<int>(root)});
      for (std::size_t i = 0; i < count && !in_place; ++i) ASSERT_TRUE(out.is(i, sent<T>(root, me, i)));
      for (std::size_t i = 0; i < count * ranks; ++i) ASSERT_TRUE(in.is(i, sent<T>(me, i / count, i % count)));
      ASSERT_TRUE(in.guards_stand() && out.guards_stand());
    });
  }
}

TEST(MpiBackend, ExchangesAllToAllInEveryTypeAndWay) {
  const auto ranks = static_cast<std::size_t>(job->size());
  const auto me = static_cast<std::size_t>(job->rank());
  for_all([&](auto zero, const Way& way, std::size_t count) {
    using T = decltype(zero);
    if (way.in_place) return;
    Elements<T> in(count * ranks, way.offset), out(count * ranks, way.offset);
    for (std::size_t i = 0; i < count * ranks; ++i) in.set(i, sent<T>(me, i / count, i % count));
    call(way, {.collective = Collective::all_to_all,
               .in = in.data(),
               .out = out.data(),
               .count = count,
               .type = data_type_v<T>});
    for (std::size_t i = 0; i < count * ranks; ++i) {
      ASSERT_TRUE(out.is(i, sent<T>(i / count, me, i % count)));
      ASSERT_TRUE(in.is(i, sent<T>(me, i / count, i % count)));
    }
    ASSERT_TRUE(in.guards_stand() && out.guards_stand());
  });
}

TEST(MpiBackend, SendsAndReceivesAroundARing) {
  const int ranks = job->size();
  const int me = job->rank();
  const int next = (me + 1) % ranks;
  const int previous = (me + ranks - 1) % ranks;
  for_all([&](auto zero, const Way& way, std::size_t count) {
    using T = decltype(zero);
    const auto element = [&](int rank, std::size_t i) { return make<T>(static_cast<double>((rank * 31 + i) % 100)); };
    Elements<T> out(count, way.offset), in(count, way.offset);
    for (std::size_t i = 0; i < count; ++i) out.set(i, element(me, i));
    const Request send{
        .collective = Collective::send, .in = out.data(), .count = count, .type = data_type_v<T>, .peer = next};
    const Request receive{
        .collective = Collective::recv, .out = in.data(), .count = count, .type = data_type_v<T>, .peer = previous};
    if (way.in_place) {  // here: as one group, else as calls of their own
      const Request both[] = {send, receive};
      if (way.async) {
        backends[way.backend]->start_group(both)->wait();
      } else {
        backends[way.backend]->run_group(both);
      }
    } else {
      const auto sending = backends[way.backend]->start(send);
      call(way, receive);
      sending->wait();
    }
    for (std::size_t i = 0; i < count; ++i) ASSERT_TRUE(in.is(i, element(previous, i)));
    ASSERT_TRUE(in.guards_stand() && out.guards_stand());
  });
}

TEST(MpiBackend, WaitsForAllRanksInABarrier) {
  for (int i = 0; i < 20; ++i) {
    call({.backend = 0, .async = i % 2 == 1, .in_place = false, .offset = 0}, {.collective = Collective::barrier});
  }
}

TEST(MpiBackend, LetsNanWinInTheTypesThatMpiDoesNotKnow) {
  for (DataType type : {DataType::f16, DataType::bf16}) {
    for (ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
      for (int holder = 0; holder < job->size(); ++holder) {
        dispatch(type, [&](auto tag) {
          using T = typename decltype(tag)::type;
          if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
            const bool mine = job->rank() == holder;
            T value = from_float<T>(mine ? std::numeric_limits<float>::quiet_NaN() : 1.0f);
            backends[0]->run({.collective = Collective::all_reduce,
                              .in = &value,
                              .out = &value,
                              .count = 1,
                              .type = type,
                              .op = op});
            EXPECT_TRUE(std::isnan(to_float(value)))
                << name_of(type) << " " << name_of(op) << " on rank " << job->rank() << ", NaN from " << holder;
          }
        });
      }
    }
  }
}

ErrorCode code_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "rank " << job->rank() << ": no error was thrown";
  return ErrorCode::system;
}

TEST(MpiBackend, RefusesAnyAlgorithmButItsOwn) {
  float x = 1;
  const Request good{.collective = Collective::all_reduce, .in = &x, .out = &x, .count = 1};
  Request bad = good;
  bad.algorithm = Algorithm::ring;
  const Request group[] = {good, bad};
  EXPECT_EQ(code_of([&] { backends[0]->run(bad); }), ErrorCode::unsupported);
  EXPECT_EQ(code_of([&] { backends[0]->start(bad); }), ErrorCode::unsupported);
  EXPECT_EQ(code_of([&] { backends[0]->start_group(group); }), ErrorCode::unsupported);
  bad.op = ReduceOp::avg;
  EXPECT_EQ(code_of([&] { backends[0]->run(bad); }), ErrorCode::unsupported);
  EXPECT_EQ(code_of([&] { (void)backends[0]->choice(bad); }), ErrorCode::unsupported);
  backends[0]->run(good);
  EXPECT_EQ(x, static_cast<float>(job->size())) << "a refused call was begun";
  EXPECT_EQ(backends[0]->choice(good).reason, "the MPI library decides");
  EXPECT_EQ(backends[0]->kind(), BackendKind::mpi);
}

TEST(MpiBackend, FindsAMessageOfAnotherCountOrType) {
  const int me = job->rank();
  const struct {
    std::size_t sent, received;
    DataType sent_type, received_type;
  } cases[] = {{4, 5, DataType::f32, DataType::f32},
               {5, 4, DataType::f32, DataType::f32},
               {0, 4, DataType::f32, DataType::f32},
               {4, 4, DataType::f32, DataType::i32},
               {8, 4, DataType::i8, DataType::bf16}};
  for (const auto& c : cases) {
    for (bool async : {false, true}) {
      SCOPED_TRACE(testing::Message() << c.sent << " " << name_of(c.sent_type) << " for " << c.received << " "
                                      << name_of(c.received_type) << (async ? ", async" : ""));
      char out[64] = {}, in[64] = {};
      const auto sending = backends[0]->start(
          {.collective = Collective::send, .in = out, .count = c.sent, .type = c.sent_type, .peer = me});
      const Request receive{
          .collective = Collective::recv, .out = in, .count = c.received, .type = c.received_type, .peer = me};
      EXPECT_EQ(code_of([&] { async ? backends[0]->start(receive)->wait() : backends[0]->run(receive); }),
                ErrorCode::mismatch);
      sending->wait();
    }
  }
}

TEST(MpiBackend, RefusesRanksThatAreThreads) {
  const auto threads = thread_bootstraps(2);
  EXPECT_EQ(code_of([&] { mpi_backend(*threads[0]); }), ErrorCode::unsupported);
}

/// Two ranks that are both this process.
class Twice : public Bootstrap {
 public:
  using Bootstrap::all_gather;
  int rank() const override { return 0; }
  int size() const override { return 2; }
  bool shares_memory() const override { return false; }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    std::copy(mine.begin(), mine.end(), all.begin());
    std::copy(mine.begin(), mine.end(), all.begin() + static_cast<std::ptrdiff_t>(mine.size()));
  }
  void barrier() override {}
  std::vector<Descriptor> share(int) override { return {}; }
  std::unique_ptr<Bootstrap> subgroup(std::span<const int>) override { return nullptr; }
  bool alive(int) const override { return true; }
  std::uint64_t bytes() const override { return 0; }
};

TEST(MpiBackend, RefusesRanksThatAreNoProcessesOfOneJob) {
  Twice twice;
  EXPECT_EQ(code_of([&] { mpi_backend(twice); }), ErrorCode::unsupported);
}

/// `members` have a backend of their own, in that order: rank m of it holds element m.
void use_group(const std::vector<int>& members) {
  const auto group = job->subgroup(members);
  if (!group) return;
  const auto backend = mpi_backend(*group);
  const auto ranks = static_cast<std::size_t>(group->size());
  const int root = group->size() - 1;
  std::vector<int> mine(ranks, job->rank()), all(ranks, -1), sum(ranks, -1);
  backend->run({.collective = Collective::gather,
                .in = mine.data(),
                .out = all.data(),
                .count = 1,
                .type = DataType::i32,
                .peer = root});
  backend
      ->start({.collective = Collective::all_reduce,
               .in = mine.data(),
               .out = sum.data(),
               .count = ranks,
               .type = DataType::i32})
      ->wait();
  int expected_sum = 0;
  for (const int member : members) expected_sum += member;
  EXPECT_EQ(sum, std::vector<int>(ranks, expected_sum)) << "rank " << job->rank();
  EXPECT_EQ(all, group->rank() == root ? members : std::vector<int>(ranks, -1)) << "rank " << job->rank();
}

TEST(MpiBackend, ServesAnyProcessesInAnyOrder) {
  std::vector<int> backwards, even, odd;
  for (int r = job->size() - 1; r >= 0; --r) {
    backwards.push_back(r);
    (r % 2 == 0 ? even : odd).push_back(r);
  }
  std::vector<int> alone = {job->rank()};
  for (int round = 0; round < 20; ++round) {
    use_group(backwards);
    use_group(job->rank() % 2 == 0 ? even : odd);
    use_group(job->rank() % 2 == 0 ? even : std::vector<int>{});
    use_group(alone);
  }
}

TEST(MpiBackend, OfOneRankNeedsNoJob) {
  const auto alone = thread_bootstraps(1);
  const auto backend = mpi_backend(*alone[0]);
  float x = 2;
  backend->run({.collective = Collective::all_reduce, .in = &x, .out = &x, .count = 1, .op = ReduceOp::prod});
  EXPECT_EQ(x, 2);
}

}  // namespace
}  // namespace tutti

int main(int argc, char** argv) {
  using namespace tutti;
  testing::InitGoogleTest(&argc, argv);
  job = mpi_bootstrap(60);
  backends[0] = mpi_backend(*job);
  backends[1] = mpi_backend_in_pieces(*job, 200);
  const int result = RUN_ALL_TESTS();
  std::printf("rank %d of %d: %s\n", job->rank(), job->size(), result == 0 ? "passed" : "failed");
  backends[0].reset();
  backends[1].reset();
  job.reset();
  return result;
}
