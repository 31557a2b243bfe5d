#include <gtest/gtest.h>

#include "collectives/tutti.hpp"

namespace tutti {
namespace {

template <class E, class Parse>
void check_names(int values, Parse&& parse) {
  for (int i = 0; i < values; ++i) {
    const auto value = static_cast<E>(i);
    EXPECT_EQ(parse(name_of(value)), value) << i << " is called " << name_of(value);
  }
  for (const char* wrong : {"", "a", "sumo", "F32", " ring"}) EXPECT_EQ(parse(wrong), std::nullopt) << wrong;
}

TEST(Names, AreParsedBackToWhatTheyName) {
  check_names<Collective>(kCollectives, parse_collective);
  check_names<Algorithm>(kAlgorithms, parse_algorithm);
  check_names<BackendKind>(4, parse_backend);
  check_names<DataType>(kDataTypes, parse_data_type);
  check_names<ReduceOp>(kReduceOps, parse_reduce_op);
}

TEST(Names, AreThoseOfTheEnumerators) {
  EXPECT_STREQ(name_of(Algorithm::automatic), "auto");
  EXPECT_STREQ(name_of(Algorithm::two_shot), "two_shot");
  EXPECT_STREQ(name_of(Algorithm::direct), "direct");
  EXPECT_STREQ(name_of(Algorithm::recursive_doubling), "recursive_doubling");
  EXPECT_STREQ(name_of(Algorithm::dissemination), "dissemination");
  EXPECT_STREQ(name_of(BackendKind::nccl), "nccl");
  EXPECT_STREQ(name_of(Collective::all_reduce), "all_reduce");
  EXPECT_STREQ(name_of(Collective::all_to_all), "all_to_all");
  EXPECT_STREQ(name_of(Collective::recv), "recv");
  EXPECT_STREQ(name_of(Collective::barrier), "barrier");
}

}  // namespace
}  // namespace tutti
