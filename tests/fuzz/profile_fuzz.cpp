// A ClusterColocationProfile over a pod or a reservation, both from outside. The input is a letter (p, r),
// the profile, a line feed and the object. What comes of one that is right is right again, and the same
// twice; a profile that fails leaves the object as it was; and so it stays with all that else is done to an
// admitted pod.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "admission/pod/pod_resources.hpp"
#include "admission/pod/pod_rules.hpp"
#include "admission/profile/profile.hpp"
#include "admission/raw/raw_object.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/json/reader.hpp"
#include "koord/json/writer.hpp"

using namespace koord;
using namespace koord::manager;

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

void check_prints(const json::Value& object) {
  const std::string printed = json::to_text(object);
  const auto again = json::parse(printed);
  check(json::depth(object, json::kMaxDepth) > json::kMaxDepth ||
        (again && json::to_text(*again) == printed));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find('\n');
  if (text.empty() || end == std::string_view::npos) return 0;
  const bool is_pod = text[0] == 'p';
  auto source = api::decode<api::ClusterColocationProfile>(text.substr(1, end - 1));
  const auto came = json::parse(text.substr(end + 1));
  if (!source || !came) return 0;
  const auto right = [&](const json::Value& object) {
    return (is_pod ? check_pod(object) : check_reservation(object)).has_value();
  };
  if (!right(*came)) return 0;

  const std::shared_ptr<const Profile> profile = std::make_shared<const Profile>(
      std::make_shared<const api::ClusterColocationProfile>(std::move(*source)));
  const PriorityClasses classes = [](std::string_view name) {
    auto made = std::make_shared<api::PriorityClass>();
    made->metadata.name = name;
    made->value = 5000;
    return name.size() > 40 ? nullptr : made;
  };
  const ProfileTarget target{.kind = is_pod ? ProfileTarget::Kind::pod : ProfileTarget::Kind::reservation};
  const api::SymbolMap labels = {{"a", "b"}};
  const auto apply = [&](json::Document& object) {
    return apply_profiles(
        {&profile, 1}, object, object.arena(), target, [&] { return &labels; }, classes, [] { return 50; });
  };
  json::Document object = json::clone(*came), twin = json::clone(*came);
  const auto outcome = apply(object);
  check(apply(twin).has_value() == outcome.has_value() && twin == object);
  check(right(object));
  if (!outcome || !outcome->failures.empty() || !profile->defect().empty()) check(object == *came);
  check_prints(object);
  if (!is_pod) return 0;

  translate_resources(object, object.arena());
  check(right(object));
  const json::Document translated = json::clone(object);
  if (set_extended_resource_spec(object, object.arena())) {
    const json::Document told = json::clone(object);
    check(set_extended_resource_spec(object, object.arena()).has_value() && object == told);
  } else {
    check(object == translated);
  }
  set_device_resources(object, object.arena());
  check(right(object));
  check_prints(object);
  check_reserved_annotations(object, true);
  check_classes(object, *came, {});
  check_device_resources(object);
  return 0;
}
