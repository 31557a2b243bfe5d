// Defects to plant, in a kernel or in a kernel of the test's own, and what the model says of them.
#pragma once
#include <functional>
#include <set>
#include <string>

#include "tests/model/calls.hpp"

namespace tutti::model {

/// What some schedules of a broken run make the model say.
struct Said {
  std::set<Defect> defects;
  std::string text;
  int clean = 0;  ///< schedules in which it found nothing
};

inline bool found(const Said& said, Defect defect) { return said.defects.count(defect) != 0; }

/// Runs `calls` calls of the case on each rank, one after the other, in many schedules.
inline Said run_broken(Case c, int ranks, int calls, const std::function<bool(const WordAt&)>& omit,
                       const std::function<void(Model&)>& before = {}) {
  Said said;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    Model model(tight_geometry(ranks, c.blocks, kLeastSlots), seed);
    if (before) before(model);
    Buffers buffers(model, c.count * size_of(c.type) * static_cast<std::size_t>(ranks));
    model.omit(omit);
    model.run([&](ModelRank& me) {
      for (int i = 0; i < calls; ++i) {
        Case mine = c;
        if (c.shape() == Shape::message && me.rank() == c.to) mine.kernel = Kernel::recv;
        if (c.shape() == Shape::message && me.rank() != c.to && me.rank() != c.root) return;
        me.call({buffers.prepare(mine, me.rank())});  // nothing is verified: the data may well be wrong
      }
    });
    for (const Finding& f : model.findings()) said.defects.insert(f.defect);
    said.clean += model.findings().empty();
    if (said.text.empty()) said.text = model.report();
  }
  return said;
}

inline Case staged_ring() {
  return {.kernel = Kernel::ring_all_reduce, .count = 700, .mapped = Mapped::none, .in_place = false};
}

/// Every such word of rank 1.
inline std::function<bool(const WordAt&)> of_rank_1(Word word, Purpose purpose = Purpose::data) {
  return [=](const WordAt& at) { return at.rank == 1 && at.word == word && at.flags.purpose == purpose; };
}

/// Five slots full, so that each is used again.
inline Case staged(Kernel kernel, int ranks) {
  Case c{.kernel = kernel, .count = 5 * tight_geometry(ranks, 1, kLeastSlots).slot_bytes / size_of(DataType::f32)};
  c.to = 1;
  c.blocks = kernel == Kernel::tree_all_reduce ? 2 : 1;
  c.mapped = Mapped::none;
  return c;
}

/// A kernel of the test's own. Each rank has two mapped buffers of 64 bytes, `in` and `out`, both of them filled.
inline Said run_kernel_of(int ranks, int blocks, const std::function<void(ModelBlock&, const Call&)>& body) {
  Said said;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    Model model(tight_geometry(ranks, blocks, kLeastSlots), seed);
    const int in = model.allocate_segment(64), out = model.allocate_segment(64);
    model.run([&](ModelRank& me) {
      Call call;
      call.in = model.segment(in, me.rank());
      call.out = model.segment(out, me.rank());
      call.count = 16;
      call.in_place = model.place_of(call.in);
      call.out_place = model.place_of(call.out);
      me.write(call.out, 64);
      me.call({Op{.name = "of_the_test", .body = body, .call = call, .blocks = blocks, .in_bytes = 64}});
      me.write(call.out, 64);
    });
    for (const Finding& f : model.findings()) said.defects.insert(f.defect);
    said.clean += model.findings().empty();
    if (said.text.empty()) said.text = model.report();
  }
  return said;
}

/// Whether the text says so.
inline bool says(const Said& said, const std::string& text) { return said.text.find(text) != std::string::npos; }

}  // namespace tutti::model
