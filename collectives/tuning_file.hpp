// Tunings as files: JSON that `tutti tune` writes, and sessions read.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "collectives/tuning.hpp"

namespace tutti {

/// What a file tells of its constants beside their values.
struct TuningNotes {
  bool on_gpu = false;
  std::string machine = {};     ///< "2 cores of ..."
  std::string how = {};         ///< "measured" or "predicted", and when
  std::string command = {};     ///< that made them
  std::vector<int> ranks = {};  ///< the numbers of ranks that were measured
};

/// `file` is for messages. Throws Error (invalid_argument), in one line that names file, place and remedy, if the text
/// is no tuning of this version for this device (`on_gpu`), or leaves a collective without an algorithm that serves
/// every call. Collectives that it does not list keep `defaults`; algorithms that it leaves out of one are never
/// chosen.
Tuning read_tuning(std::string_view text, const std::string& file, bool on_gpu, const Tuning& defaults);

/// The same of the file of that name.
Tuning read_tuning_file(const std::string& file, bool on_gpu, const Tuning& defaults);

/// The notes of a text that read_tuning has read.
TuningNotes notes_of(std::string_view text);

/// What read_tuning reads back.
std::string write_tuning(const Tuning& tuning, const TuningNotes& notes);

}  // namespace tutti
