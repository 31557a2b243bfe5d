// The list of defects that do no harm: each by name, with the reason why nothing can be found.
#pragma once
#include <string>
#include <vector>

namespace tutti::tests {

/// What came of a planted defect.
struct Verdict {
  std::string defect;  ///< its name
  bool found = false;
};

class Harmless {
 public:
  /// Reads lines "PATTERN -- REASON", patterns as of the shell; # begins a comment. Throws std::runtime_error for a
  /// line without a reason.
  explicit Harmless(const std::string& path);

  bool lists(const std::string& defect) const;

  /// The reason of the first entry that lists the defect; null if none does.
  const std::string* why(const std::string& defect) const;

  /// One line for each defect that is neither found nor listed.
  std::vector<std::string> unlisted(const std::vector<Verdict>& verdicts) const;
  /// One line for each entry of the list that explains none.
  std::vector<std::string> stale(const std::vector<Verdict>& verdicts) const;
  /// Both.
  std::vector<std::string> complaints(const std::vector<Verdict>& verdicts) const;
  /// One line for each defect that is found though listed.
  std::vector<std::string> found_though_listed(const std::vector<Verdict>& verdicts) const;

 private:
  struct Entry {
    std::string pattern, reason;
    bool lists(const std::string& defect) const;
  };
  std::string path_;
  std::vector<Entry> entries_;
};

}  // namespace tutti::tests
