// Every collective of nccl.h on every type, out of place and in place, called by one thread and by one for each rank.
#include <algorithm>
#include <tuple>

#include "tests/nccl_programs/world_cuda.hpp"

namespace nccl_programs {
namespace {

using Values = std::vector<double>;

constexpr int kRanks = 3;

/// Small enough that every type holds the products and sums of all ranks.
double input(int rank, std::size_t i) { return static_cast<double>((static_cast<std::size_t>(rank) * 7 + i * 3) % 4); }

Values inputs(int rank, std::size_t count) {
  Values values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = input(rank, i);
  return values;
}

double reduced(ncclRedOp_t op, std::size_t i) {
  double result = input(0, i);
  for (int rank = 1; rank < kRanks; ++rank) {
    const double next = input(rank, i);
    switch (op) {
      case ncclProd: result *= next; break;
      case ncclMax: result = std::max(result, next); break;
      case ncclMin: result = std::min(result, next); break;
      default: result += next;
    }
  }
  return result;
}

Values reduced(ncclRedOp_t op, std::size_t first, std::size_t count) {
  Values values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = reduced(op, first + i);
  return values;
}

struct Case {
  Callers callers;
  ncclDataType_t type;
  std::size_t count;
};

std::string case_name(const testing::TestParamInfo<Case>& info) {
  return (info.param.callers == Callers::one_thread ? "OneThread_" : "ThreadPerRank_") + name_of(info.param.type) +
         "_of_" + std::to_string(info.param.count);
}

class Collectives : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (gpus() < kRanks) GTEST_SKIP() << "needs " << kRanks << " GPUs, there are " << gpus();
    world_ = world_of(GetParam().callers);
  }
  static World* world_of(Callers callers) {
    static World* const worlds[] = {new World(kRanks, Callers::one_thread),
                                    new World(kRanks, Callers::thread_per_rank)};
    return worlds[static_cast<int>(callers)];
  }
  ncclDataType_t type() const { return GetParam().type; }
  std::size_t count() const { return GetParam().count; }
  std::size_t bytes() const { return count() * size_of(type()); }
  Memory filled(int rank, std::size_t elements) const { return {rank, encode(type(), inputs(rank, elements))}; }
  /// Memory of `elements` elements, of which those of rank `rank`'s part are its input.
  Memory with_own_part(int rank) const {
    Values values(count() * kRanks, -1.0 * (type() != ncclUint8 && type() != ncclUint32 && type() != ncclUint64));
    for (std::size_t i = 0; i < count(); ++i) values[static_cast<std::size_t>(rank) * count() + i] = input(rank, i);
    return {rank, encode(type(), values)};
  }
  static std::size_t part(int rank) { return static_cast<std::size_t>(rank); }
  World* world_ = nullptr;
};

class Reductions : public Collectives {};

TEST_P(Reductions, AllReduceLeavesTheSameOnEveryRank) {
  for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin}) {
    std::vector<Memory> in, out;
    for (int r = 0; r < kRanks; ++r) in.push_back(filled(r, count())), out.emplace_back(r, bytes());
    world_->run([&](int r) {
      return ncclAllReduce(in[part(r)].at(), out[part(r)].at(), count(), type(), op, world_->comm(r),
                           world_->stream(r));
    });
    world_->run([&](int r) {
      return ncclAllReduce(in[part(r)].at(), in[part(r)].at(), count(), type(), op, world_->comm(r), world_->stream(r));
    });
    for (int r = 0; r < kRanks; ++r) {
      expect_values(out[part(r)], type(), 0, reduced(op, 0, count()), "rank " + std::to_string(r));
      expect_values(in[part(r)], type(), 0, reduced(op, 0, count()), "in place, rank " + std::to_string(r));
    }
  }
}

TEST_P(Reductions, AverageDividesTheSumByTheRanks) {
  std::vector<Memory> in;
  Values average(count());
  for (std::size_t i = 0; i < count(); ++i) average[i] = static_cast<double>(i % 5);
  for (int r = 0; r < kRanks; ++r) {
    Values mine(count());  // multiples of the average, so that the division is exact: 0, 1 and 2 times it
    for (std::size_t i = 0; i < count(); ++i) mine[i] = r * average[i];
    in.emplace_back(r, encode(type(), mine));
  }
  world_->run([&](int r) {
    return ncclAllReduce(in[part(r)].at(), in[part(r)].at(), count(), type(), ncclAvg, world_->comm(r),
                         world_->stream(r));
  });
  for (int r = 0; r < kRanks; ++r) expect_values(in[part(r)], type(), 0, average, "rank " + std::to_string(r));
}

TEST_P(Reductions, ReduceLeavesTheResultOnTheRootAlone) {
  for (int root = 0; root < kRanks; ++root) {
    std::vector<Memory> in, out;
    for (int r = 0; r < kRanks; ++r) in.push_back(filled(r, count())), out.emplace_back(r, bytes());
    world_->run([&](int r) {
      return ncclReduce(in[part(r)].at(), r == root ? out[part(r)].at() : nullptr, count(), type(), ncclSum, root,
                        world_->comm(r), world_->stream(r));
    });
    expect_values(out[part(root)], type(), 0, reduced(ncclSum, 0, count()), "root " + std::to_string(root));
    for (int r = 0; r < kRanks; ++r)
      expect_values(in[part(r)], type(), 0, inputs(r, count()), "the input of rank " + std::to_string(r));
  }
}

TEST_P(Reductions, ReduceScatterGivesEveryRankItsPart) {
  std::vector<Memory> in, out;
  for (int r = 0; r < kRanks; ++r) in.push_back(filled(r, count() * kRanks)), out.emplace_back(r, bytes());
  world_->run([&](int r) {
    return ncclReduceScatter(in[part(r)].at(), out[part(r)].at(), count(), type(), ncclMax, world_->comm(r),
                             world_->stream(r));
  });
  world_->run([&](int r) {
    return ncclReduceScatter(in[part(r)].at(), in[part(r)].at(part(r) * bytes()), count(), type(), ncclMax,
                             world_->comm(r), world_->stream(r));
  });
  for (int r = 0; r < kRanks; ++r) {
    const Values expected = reduced(ncclMax, part(r) * count(), count());
    expect_values(out[part(r)], type(), 0, expected, "rank " + std::to_string(r));
    expect_values(in[part(r)], type(), part(r) * count(), expected, "in place, rank " + std::to_string(r));
  }
}

TEST_P(Reductions, MultiplyByAScalarOfEachRankFirst) {
  for (const ncclScalarResidence_t residence : {ncclScalarHostImmediate, ncclScalarDevice}) {
    std::vector<Memory> in, out, parts, scalars;
    std::vector<ncclRedOp_t> ops(kRanks);
    for (int r = 0; r < kRanks; ++r) {
      in.push_back(filled(r, count() * kRanks)), out.emplace_back(r, bytes()), parts.emplace_back(r, bytes());
      const std::vector<std::byte> scalar = encode(type(), Values{r + 1.0});
      scalars.emplace_back(r, scalar);
      std::vector<std::byte> immediate = scalar;
      check(ncclRedOpCreatePreMulSum(&ops[part(r)],
                                     residence == ncclScalarDevice ? scalars.back().at() : immediate.data(), type(),
                                     residence, world_->comm(r)),
            "ncclRedOpCreatePreMulSum");
    }
    world_->run([&](int r) {
      return ncclReduceScatter(in[part(r)].at(), parts[part(r)].at(), count(), type(), ops[part(r)], world_->comm(r),
                               world_->stream(r));
    });
    world_->run([&](int r) {
      return ncclReduce(in[part(r)].at(), r == 1 ? out[1].at() : nullptr, count(), type(), ops[part(r)], 1,
                        world_->comm(r), world_->stream(r));
    });
    // Destroyed as soon as the call has returned, though the group has not ended.
    world_->run([&](int r) {
      const ncclResult_t called = ncclAllReduce(in[part(r)].at(), in[part(r)].at(), count(), type(), ops[part(r)],
                                                world_->comm(r), world_->stream(r));
      const ncclResult_t destroyed = ncclRedOpDestroy(ops[part(r)], world_->comm(r));
      return called != ncclSuccess ? called : destroyed;
    });
    Values expected(count() * kRanks);
    for (std::size_t i = 0; i < expected.size(); ++i)
      for (int r = 0; r < kRanks; ++r) expected[i] += (r + 1) * input(r, i);
    const std::span all(expected);
    expect_values(out[1], type(), 0, all.first(count()), "reduced to rank 1");
    for (int r = 0; r < kRanks; ++r) {
      expect_values(in[part(r)], type(), 0, all.first(count()), "rank " + std::to_string(r));
      expect_values(parts[part(r)], type(), 0, all.subspan(part(r) * count(), count()),
                    "the part of rank " + std::to_string(r));
    }
  }
}

TEST_P(Collectives, BroadcastCopiesTheRootsBuffer) {
  for (int root = 0; root < kRanks; ++root) {
    std::vector<Memory> in, out;
    for (int r = 0; r < kRanks; ++r) in.push_back(filled(r, count())), out.emplace_back(r, bytes());
    world_->run([&](int r) {
      return ncclBroadcast(r == root ? in[part(r)].at() : nullptr, out[part(r)].at(), count(), type(), root,
                           world_->comm(r), world_->stream(r));
    });
    world_->run(
        [&](int r) { return ncclBcast(in[part(r)].at(), count(), type(), root, world_->comm(r), world_->stream(r)); });
    for (int r = 0; r < kRanks; ++r) {
      expect_values(out[part(r)], type(), 0, inputs(root, count()), "rank " + std::to_string(r));
      expect_values(in[part(r)], type(), 0, inputs(root, count()), "in place, rank " + std::to_string(r));
    }
  }
}

TEST_P(Collectives, AllGatherPutsThePartsInRankOrder) {
  std::vector<Memory> in, out, in_place;
  for (int r = 0; r < kRanks; ++r) {
    in.push_back(filled(r, count()));
    out.emplace_back(r, kRanks * bytes());
    in_place.push_back(with_own_part(r));
  }
  world_->run([&](int r) {
    return ncclAllGather(in[part(r)].at(), out[part(r)].at(), count(), type(), world_->comm(r), world_->stream(r));
  });
  world_->run([&](int r) {
    return ncclAllGather(in_place[part(r)].at(part(r) * bytes()), in_place[part(r)].at(), count(), type(),
                         world_->comm(r), world_->stream(r));
  });
  for (int r = 0; r < kRanks; ++r)
    for (int from = 0; from < kRanks; ++from) {
      const std::string what = "rank " + std::to_string(r) + ", part " + std::to_string(from);
      expect_values(out[part(r)], type(), part(from) * count(), inputs(from, count()), what);
      expect_values(in_place[part(r)], type(), part(from) * count(), inputs(from, count()), "in place, " + what);
    }
}

TEST_P(Collectives, GatherAndScatterMoveTheRootsParts) {
  for (const int root : {0, 2}) {
    std::vector<Memory> in, gathered, scattered;
    for (int r = 0; r < kRanks; ++r) {
      in.push_back(filled(r, count()));
      gathered.emplace_back(r, kRanks * bytes());
      scattered.emplace_back(r, bytes());
    }
    world_->run([&](int r) {
      return ncclGather(in[part(r)].at(), r == root ? gathered[part(r)].at() : nullptr, count(), type(), root,
                        world_->comm(r), world_->stream(r));
    });
    world_->run([&](int r) {
      return ncclScatter(r == root ? gathered[part(r)].at() : nullptr, scattered[part(r)].at(), count(), type(), root,
                         world_->comm(r), world_->stream(r));
    });
    for (int r = 0; r < kRanks; ++r) {
      expect_values(gathered[part(root)], type(), part(r) * count(), inputs(r, count()), "part " + std::to_string(r));
      expect_values(scattered[part(r)], type(), 0, inputs(r, count()), "rank " + std::to_string(r));
    }
  }
}

TEST_P(Collectives, AllToAllExchangesThePartsOfAllPairs) {
  std::vector<Memory> in, out, by_messages;
  for (int r = 0; r < kRanks; ++r) {
    in.push_back(filled(r, kRanks * count()));
    out.emplace_back(r, kRanks * bytes());
    by_messages.emplace_back(r, kRanks * bytes());
  }
  world_->run([&](int r) {
    return ncclAlltoAll(in[part(r)].at(), out[part(r)].at(), count(), type(), world_->comm(r), world_->stream(r));
  });
  world_->run([&](int r) {
    check(ncclGroupStart(), "ncclGroupStart");
    for (int peer = 0; peer < kRanks; ++peer) {
      check(ncclSend(in[part(r)].at(part(peer) * bytes()), count(), type(), peer, world_->comm(r), world_->stream(r)),
            "ncclSend");
      check(ncclRecv(by_messages[part(r)].at(part(peer) * bytes()), count(), type(), peer, world_->comm(r),
                     world_->stream(r)),
            "ncclRecv");
    }
    return ncclGroupEnd();
  });
  for (int r = 0; r < kRanks; ++r)
    for (int from = 0; from < kRanks; ++from) {
      const Values all = inputs(from, kRanks * count());
      const auto expected = std::span(all).subspan(part(r) * count(), count());
      const std::string what = "rank " + std::to_string(r) + " from " + std::to_string(from);
      expect_values(out[part(r)], type(), part(from) * count(), expected, what);
      expect_values(by_messages[part(r)], type(), part(from) * count(), expected, "by messages, " + what);
    }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const ncclDataType_t type : kTypes) all.push_back({Callers::one_thread, type, 17});
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{3001}})
    all.push_back({Callers::one_thread, ncclFloat32, count});
  for (const std::size_t count : {std::size_t{1}, std::size_t{3001}})
    all.push_back({Callers::thread_per_rank, ncclFloat16, count});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Programs, Collectives, testing::ValuesIn(cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Programs, Reductions, testing::ValuesIn(cases()), case_name);

/// What a program that averages integers in their own type sees: a sum that wraps, then a division toward zero.
TEST(Averages, OfIntegersAreTakenOfTheSumInTheirOwnType) {
  if (gpus() < kRanks) GTEST_SKIP() << "needs " << kRanks << " GPUs, there are " << gpus();
  const World world(kRanks);
  std::vector<Memory> signed_bytes, unsigned_bytes;
  for (int r = 0; r < kRanks; ++r) {
    signed_bytes.emplace_back(r, encode(ncclInt8, Values{100, -3, -4}));
    unsigned_bytes.emplace_back(r, encode(ncclUint8, Values{100, 3, 5.0 + r}));
  }
  world.run([&](int r) {
    const auto part = static_cast<std::size_t>(r);
    check(ncclAllReduce(signed_bytes[part].at(), signed_bytes[part].at(), 3, ncclInt8, ncclAvg, world.comm(r),
                        world.stream(r)),
          "ncclAllReduce");
    return ncclAllReduce(unsigned_bytes[part].at(), unsigned_bytes[part].at(), 3, ncclUint8, ncclAvg, world.comm(r),
                         world.stream(r));
  });
  for (int r = 0; r < kRanks; ++r) {
    // 300 is 44 in 8 bits
    expect_values(signed_bytes[static_cast<std::size_t>(r)], ncclInt8, 0, Values{14, -3, -4},
                  "rank " + std::to_string(r));
    expect_values(unsigned_bytes[static_cast<std::size_t>(r)], ncclUint8, 0, Values{14, 3, 6},
                  "rank " + std::to_string(r));
  }
}

}  // namespace
}  // namespace nccl_programs
