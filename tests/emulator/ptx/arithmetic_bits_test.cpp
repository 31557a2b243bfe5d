// Logic, shifts, fields and bytes, bit by bit.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/emulator/ptx/arithmetic_trial.hpp"

namespace tutti::emulator::trial {
namespace {

/// A result whose bit i is f(i).
Bits each_bit(int bits, const std::function<bool(int)>& f) {
  Bits result = 0;
  for (int i = 0; i < bits; ++i) result |= Bits{f(i)} << i;
  return result;
}
bool bit(Bits value, int i) { return (value >> i & 1) != 0; }

TEST(PtxBits, CombinesBitByBit) {
  for (const char* type : {"pred", "b16", "b32", "b64"}) {
    const Kind kind = type;
    const std::string name = type;
    const auto both = [&](const std::function<bool(bool, bool)>& f) {
      return [&kind, f](std::span<const Bits> v) {
        return each_bit(kind.bits, [&](int i) { return f(bit(v[0], i), bit(v[1], i)); });
      };
    };
    check("and." + name, {kind, kind}, kind, both([](bool a, bool b) { return a && b; }));
    check("or." + name, {kind, kind}, kind, both([](bool a, bool b) { return a || b; }));
    check("xor." + name, {kind, kind}, kind, both([](bool a, bool b) { return a != b; }));
    check("not." + name, {kind}, kind,
          [&](auto v) { return each_bit(kind.bits, [&](int i) { return !bit(v[0], i); }); });
    if (name != "pred") check("cnot." + name, {kind}, kind, [](auto v) { return v[0] == 0 ? 1 : 0; });
  }
}

Bits looked_up(std::span<const Bits> v) {
  return each_bit(32, [&](int i) { return bit(v[3], 4 * bit(v[0], i) + 2 * bit(v[1], i) + bit(v[2], i)); });
}

TEST(PtxBits, LooksUpThreeBitsInATable) {
  const std::vector<Kind> operands = {"b32", "b32", "b32", "b32"};
  check("lop3.b32", operands, "b32", looked_up);
  const std::vector<Bits> values = {0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa};
  for (Bits table = 0; table < 256; ++table)
    check_on("lop3.b32", operands, "b32", {{values[0], values[1], values[2], table}},
             [&](auto) { return table * 0x01010101; });
  const std::vector<Kind> with_predicate = {"b32", "b32", "b32", "b32", "pred"};
  check_two("lop3.or.b32", with_predicate, "b32", "pred", [](auto v) {
    return std::pair{looked_up(v), Bits{looked_up(v) != 0 || v[4] != 0}};
  });
  check_two("lop3.and.b32", with_predicate, "b32", "pred", [](auto v) {
    return std::pair{looked_up(v), Bits{looked_up(v) != 0 && v[4] != 0}};
  });
}

TEST(PtxBits, ShiftsByAtMostTheWidth) {
  for (const char* width : {"16", "32", "64"}) {
    for (const char* type : {"b", "u", "s"}) {
      const Kind kind = std::string(type) + width;
      const int bits = kind.bits;
      const auto by = [bits](Bits amount) { return static_cast<int>(std::min<Bits>(amount, static_cast<Bits>(bits))); };
      check("shr." + kind.name, {kind, "n"}, kind, [&](auto v) {
        return each_bit(bits, [&](int i) {
          const int from = i + by(v[1]);
          return from < bits ? bit(v[0], from) : kind.is_signed && bit(v[0], bits - 1);
        });
      });
      if (*type == 'b')
        check("shl." + kind.name, {kind, "n"}, kind,
              [&](auto v) { return each_bit(bits, [&](int i) { return i >= by(v[1]) && bit(v[0], i - by(v[1])); }); });
    }
  }
}

TEST(PtxBits, FunnelsTwoWordsIntoOne) {
  for (const bool wraps : {false, true})
    for (const bool left : {false, true}) {
      const std::string spelling = std::string("shf.") + (left ? "l." : "r.") + (wraps ? "wrap" : "clamp") + ".b32";
      check(spelling, {"b32", "b32", "n"}, "b32", [&](auto v) {
        const int by = static_cast<int>(wraps ? v[2] % 32 : std::min<Bits>(v[2], 32));
        return each_bit(32, [&](int i) {
          const int from = left ? 32 + i - by : i + by;  // in the 64 bits of b:a
          return from < 32 ? bit(v[0], from) : bit(v[1], from - 32);
        });
      });
    }
}

/// Which of the eight bytes of b:a goes to byte i, for the control 0 .. 3.
using ByteChoice = std::array<std::array<int, 4>, 4>;

TEST(PtxBits, PermutesBytes) {
  const std::vector<Kind> operands = {"b32", "b32", "b32"};
  const auto byte = [](std::span<const Bits> v, int k) { return (k < 4 ? v[0] >> 8 * k : v[1] >> 8 * (k - 4)) & 0xff; };
  check("prmt.b32", operands, "b32", [&](auto v) {
    Bits result = 0;
    for (int i = 0; i < 4; ++i) {
      const auto selector = static_cast<int>(v[2] >> 4 * i & 15);
      Bits chosen = byte(v, selector & 7);
      if (selector & 8) chosen = chosen >= 0x80 ? 0xff : 0;
      result |= chosen << 8 * i;
    }
    return result;
  });
  const std::pair<const char*, ByteChoice> modes[] = {
      {"f4e", {{{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}}}},
      {"b4e", {{{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}}}},
      {"rc8", {{{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}}},
      {"ecl", {{{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}}}},
      {"ecr", {{{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}}}},
      {"rc16", {{{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}}}},
  };
  for (const auto& [mode, choice] : modes)
    check(std::string("prmt.b32.") + mode, operands, "b32", [&](auto v) {
      Bits result = 0;
      for (std::size_t i = 0; i < 4; ++i) result |= byte(v, choice[v[2] & 3][i]) << 8 * i;
      return result;
    });
}

TEST(PtxBits, CountsAndFindsBits) {
  for (const char* width : {"32", "64"}) {
    const Kind kind = std::string("b") + width;
    const int bits = kind.bits;
    check("popc." + kind.name, {kind}, "u32", [&](auto v) {
      Bits count = 0;
      for (int i = 0; i < bits; ++i) count += bit(v[0], i);
      return count;
    });
    check("clz." + kind.name, {kind}, "u32", [&](auto v) {
      Bits count = 0;
      while (static_cast<int>(count) < bits && !bit(v[0], bits - 1 - static_cast<int>(count))) ++count;
      return count;
    });
    check("brev." + kind.name, {kind}, kind,
          [&](auto v) { return each_bit(bits, [&](int i) { return bit(v[0], bits - 1 - i); }); });
    for (const char* type : {"u", "s"}) {
      const Kind typed = std::string(type) + width;
      const auto top = [&](Bits value) {
        const bool ignored = typed.is_signed && bit(value, bits - 1);
        for (int i = bits - 1; i >= 0; --i)
          if (bit(value, i) != ignored) return i;
        return -1;
      };
      check("bfind." + typed.name, {typed}, "u32", [&](auto v) { return static_cast<Bits>(top(v[0])); });
      check("bfind.shiftamt." + typed.name, {typed}, "u32",
            [&](auto v) { return static_cast<Bits>(top(v[0]) < 0 ? -1 : bits - 1 - top(v[0])); });
    }
  }
}

TEST(PtxBits, FindsTheNthSetBit) {
  std::vector<std::vector<Bits>> cases;
  for (const Bits mask : {Bits{0}, Bits{1}, Bits{0x80000000}, Bits{0xffffffff}, Bits{0x00f0a018}})
    for (Bits base = 0; base < 32; ++base)
      for (int n = -33; n <= 33; ++n) cases.push_back({mask, base, static_cast<Bits>(n)});
  cases.push_back({0xffffffff, 32, 1});
  check_on("fns.b32", {"b32", "u32", "s32"}, "u32", cases, [](std::span<const Bits> v) -> Bits {
    std::vector<int> ones;
    const auto n = static_cast<int>(v[2]), base = static_cast<int>(v[1]);
    for (int i = 0; i < 32; ++i)
      if (bit(v[0], i) && (n > 0 ? i >= base : n < 0 ? i <= base : i == base)) ones.push_back(i);
    if (n < 0) std::reverse(ones.begin(), ones.end());
    const std::size_t wanted = n == 0 ? 0 : static_cast<std::size_t>(std::abs(n)) - 1;
    return base < 32 && wanted < ones.size() ? static_cast<Bits>(ones[wanted]) : 0xffffffff;
  });
}

TEST(PtxBits, ExtractsAndInsertsFields) {
  for (const char* type : {"u32", "u64", "s32", "s64"}) {
    const Kind kind = type;
    const int top = kind.bits - 1;
    check(std::string("bfe.") + type, {kind, "n", "n"}, kind, [&](auto v) {
      const int position = v[1] & 255, length = v[2] & 255;
      const bool sign = kind.is_signed && length > 0 && bit(v[0], std::min(position + length - 1, top));
      return each_bit(kind.bits,
                      [&](int i) { return i < length && position + i <= top ? bit(v[0], position + i) : sign; });
    });
  }
  for (const char* type : {"b32", "b64"}) {
    const Kind kind = type;
    check(std::string("bfi.") + type, {kind, kind, "n", "n"}, kind, [&](auto v) {
      const int position = v[2] & 255, length = v[3] & 255;
      return each_bit(kind.bits, [&](int i) {
        return i >= position && i < position + length ? bit(v[0], i - position) : bit(v[1], i);
      });
    });
  }
}

}  // namespace
}  // namespace tutti::emulator::trial
