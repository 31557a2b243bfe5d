// Machine files: what is read, what is refused and how that is told.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "bench/predict/machine_file.hpp"
#include "bench/predict/machine_keys.hpp"

namespace tutti::predict {
namespace {

using Json = nlohmann::ordered_json;

std::string good() { return write_machine(machine_for("h100x8")); }

std::string with(const std::function<void(Json&)>& change) {
  Json json = Json::parse(good());
  change(json);
  return json.dump();
}

/// What reading `text` says, or nothing.
std::string complaint(const std::string& text) {
  try {
    read_machine(text, "box.json");
    return "";
  } catch (const MachineError& error) {
    return error.what();
  }
}

TEST(MachineFile, IsReadAsItWasWritten) {
  for (const std::string& name : shipped_machines()) {
    const MachineFile once = machine_for(name), twice = read_machine(write_machine(once), "again");
    EXPECT_EQ(once.machine.name, name);
    EXPECT_EQ(write_machine(once), write_machine(twice));
    EXPECT_EQ(once.sources, twice.sources);
  }
}

TEST(MachineFile, OfEveryShippedMachineHasASourceForEveryNumber) {
  ASSERT_GE(shipped_machines().size(), 5u);
  for (const std::string& name : shipped_machines()) {
    const MachineFile file = machine_for(name);
    const timed::Machine nothing;
    for (const Key& key : machine_keys()) {
      const auto* const whole = std::get_if<int timed::Machine::*>(&key.member);
      const bool is_set = whole ? file.machine.**whole != nothing.**whole
                                : file.machine.*std::get<double timed::Machine::*>(key.member) !=
                                      nothing.*std::get<double timed::Machine::*>(key.member);
      EXPECT_TRUE(!is_set || file.sources.contains(key.name)) << name << ": " << key.name;
    }
  }
}

TEST(MachineFile, IsRefusedInOneLineThatNamesFileAndKey) {
  const auto expect = [](const std::string& text, std::initializer_list<const char*> parts) {
    const std::string said = complaint(text);
    EXPECT_EQ(said.find("box.json"), 0u) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    for (const char* part : parts) EXPECT_NE(said.find(part), std::string::npos) << said << "\nlacks: " << part;
  };
  expect("{", {"not JSON"});
  expect("", {"not JSON"});
  expect("[]", {"is an object"});
  expect(with([](Json& m) { m["launch"].erase("source"); }), {"'launch'", "no source", "estimate: ..."});
  expect(with([](Json& m) { m["launch"]["source"] = "I know"; }), {"'launch'", "I know", "data sheet: ..."});
  expect(with([](Json& m) { m["launch"]["source"] = "published: somewhere"; }), {"'launch'", "with an address"});
  expect(with([](Json& m) { m["launch"]["source"] = "measured: lately"; }), {"'launch'", "with the date"});
  expect(with([](Json& m) { m["launch"] = 2500; }), {"'launch'", "bare value", "\"unit\": \"ns\""});
  expect(with([](Json& m) { m["launch"]["unit"] = "us"; }), {"'launch'", "\"us\"", "its unit is \"ns\""});
  expect(with([](Json& m) { m["launch"].erase("unit"); }), {"'launch'", "no unit"});
  expect(with([](Json& m) { m["launch"]["remark"] = ""; }), {"'launch'", "'remark'"});
  expect(with([](Json& m) { m["launch"]["value"] = -1; }), {"'launch'", "-1", "0 or more"});
  expect(with([](Json& m) { m["launch"]["value"] = "fast"; }), {"'launch'", "fast", "use a number"});
  expect(with([](Json& m) { m["link"]["value"] = 0; }), {"'link'", "more than 0"});
  expect(with([](Json& m) { m["link"]["value"] = 1e-308; }), {"'link'", "1e-308", "from 1e-06 to 1e+15"});
  expect(with([](Json& m) { m["launch"]["value"] = 1e308; }), {"'launch'", "1e+308", "from 1e-06 to 1e+15"});
  expect(with([](Json& m) { m["ranks"]["value"] = 2.5; }), {"'ranks'", "2.5", "whole number"});
  expect(with([](Json& m) { m.erase("flag"); }), {"'flag'", "is missing"});
  expect(with([](Json& m) { m["speed"] = m["flag"]; }), {"'speed'", "is no key", "GPUs", "packet_block"});
  expect(with([](Json& m) { m["cores"] = m["ranks"]; }), {"'cores'", "is no key", "GPUs"});
  expect(with([](Json& m) { m["kind"] = "tpu"; }), {"'kind'", "tpu", "gpu or cpu"});
  expect(with([](Json& m) { m["wiring"] = "ring"; }), {"'wiring'", "ring", "switched, direct or shared"});
  expect(with([](Json& m) { m["wiring"] = "direct"; }), {"'pair'", "is missing"});
  expect(with([](Json& m) { m.erase("name"); }), {"'name'", "is missing"});
  expect(with([](Json& m) { m["a\nb"] = 1; }), {"'a b'", "is no key"});
  std::string deep = good();
  deep.replace(deep.find("2500"), 4, std::string(100000, '[') + std::string(100000, ']'));
  expect(deep, {"values within values"});
  std::string twice = good();
  twice.insert(twice.find("\"kind\""), "\"name\": \"other\", ");
  expect(twice, {"'name'", "twice"});
}

TEST(MachineFile, IsNotWrittenWithoutSources) {
  MachineFile file = machine_for("h100x8");
  file.sources.erase("launch");
  EXPECT_THROW(write_machine(file), MachineError);
}

TEST(MachineFile, ThatDoesNotExistIsToldWithThoseThatDo) {
  const auto said = [](const std::string& name) {
    try {
      machine_for(name);
    } catch (const MachineError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(said("h300x8").find("h100x8"), std::string::npos);
  EXPECT_NE(said("no/such.json").find("cannot read"), std::string::npos);
  EXPECT_NE(said("/").find("cannot read"), std::string::npos);
  EXPECT_NE(said("/dev/null").find("/dev/null: not JSON"), std::string::npos);
  EXPECT_NE(said("/dev/zero").find("larger than 1 MiB"), std::string::npos);
}

TEST(MachineFile, SendsNoControlCharactersToATerminal) {
  const std::string text = with([](Json& m) { m["name"] = "a\x1b[31m\nb"; });
  EXPECT_EQ(read_machine(text, "box.json").machine.name, "a [31m b");
  const std::string source = with([](Json& m) { m["link"]["source"] = "estimate: a\x1b[31m\nb"; });
  EXPECT_EQ(read_machine(source, "box.json").sources.at("link"), "estimate: a [31m b");
}

}  // namespace
}  // namespace tutti::predict
