// One line of what `koord migrate check` says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace koord::app::migrate {

enum class Verdict : std::uint8_t {
  same,        // koord does it alike
  better,      // koord does it, and more
  not_at_all,  // koord does not do it; nothing breaks by that
  unknown,     // it could not be read
  in_the_way,  // to be put right before the role is swapped
};
/// As it is printed and in JSON: "same", "better", "not at all", "unknown", "in the way".
std::string_view to_string(Verdict verdict);

struct Finding {
  Verdict verdict = Verdict::same;
  std::string about;  // "koordlet", "ConfigMap koordinator-system/slo-controller-config"
  std::string text;
};

/// One step of the swap, in words; `about` is the role's name or empty.
struct Step {
  std::string role, text;
};

struct Report {
  std::string server, kubernetes;
  std::vector<Finding> findings;
  std::vector<Step> steps;
  bool in_the_way() const;
};

/// Lines for people. `all`: of what is the same every line, else one that counts it a subject.
std::string render(const Report& report, bool all);
/// The same as JSON, every line, ended.
std::string render_json(const Report& report);

}  // namespace koord::app::migrate
