// Which taints a toleration is for, and which are left.
#include "koord/api/rules/toleration.hpp"

#include <catch2/catch.hpp>

namespace koord::api {
namespace {

TEST_CASE("a toleration: its effect, key and operator; an absent one is for any") {
  struct Row {
    Toleration toleration;
    bool tolerated, comparing;  // with the gate
  };
  const Taint taint{"k", "5", "NoSchedule", {}};
  for (const Row& row : {
           Row{{"k", "Equal", "5", "NoSchedule", {}}, true, true},
           Row{{"k", "", "5", "", {}}, true, true},
           Row{{"k", "Equal", "6", "NoSchedule", {}}, false, false},
           Row{{"k", "Equal", "5", "NoExecute", {}}, false, false},
           Row{{"j", "Exists", "", "", {}}, false, false},
           Row{{"k", "Exists", "", "", {}}, true, true},
           Row{{"", "Exists", "", "", {}}, true, true},
           Row{{"", "", "5", "", {}}, true, true},
           Row{{"k", "Unknown", "5", "", {}}, false, false},
           Row{{"k", "Lt", "6", "", {}}, false, true},
           Row{{"k", "Lt", "5", "", {}}, false, false},
           Row{{"k", "Gt", "-6", "", {}}, false, true},
           // No decimal integer as people write it.
           Row{{"k", "Gt", "04", "", {}}, false, false},
           Row{{"k", "Gt", "-0", "", {}}, false, false},
           Row{{"k", "Gt", "+4", "", {}}, false, false},
           Row{{"k", "Gt", "4.0", "", {}}, false, false},
           Row{{"k", "Gt", "", "", {}}, false, false},
           Row{{"k", "Lt", "9223372036854775808", "", {}}, false, false},
       }) {
    CAPTURE(row.toleration.key.view(), row.toleration.operator_.view(), row.toleration.value.view());
    CHECK(tolerates(row.toleration, taint) == row.tolerated);
    CHECK(tolerates(row.toleration, taint, true) == row.comparing);
  }
}

TEST_CASE(
    "of taints those count that keep pods away, the first that nothing tolerates; preferences are counted") {
  const std::vector<Taint> taints{{"soft", "", "PreferNoSchedule", {}},
                                  {"a", "", "NoSchedule", {}},
                                  {"b", "", "NoExecute", {}},
                                  {"c", "", "Other", {}}};
  std::vector<Toleration> tolerations;
  CHECK(untolerated(taints, tolerations) == &taints[1]);
  CHECK(count_untolerated_preferences(taints, tolerations) == 1);
  tolerations.push_back({"a", "Exists", "", "", {}});
  CHECK(untolerated(taints, tolerations) == &taints[2]);
  tolerations.push_back({"", "Exists", "", "NoExecute", {}});
  CHECK(untolerated(taints, tolerations) == nullptr);
  CHECK(count_untolerated_preferences(taints, tolerations) == 1);  // the last is for another effect
  tolerations.push_back({"soft", "Exists", "", "PreferNoSchedule", {}});
  CHECK(count_untolerated_preferences(taints, tolerations) == 0);
}

}  // namespace
}  // namespace koord::api
