// The rows of the file of births, a value each:
//   KNOB<tab>STRATEGY<tab>GIVEN<tab>FREE<tab>UID<tab>BEFORE<tab>CONTAINER
#include "framework/hooks/births.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "koord/host/cgroup_knobs.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

constexpr BootFile::Kind kKind{.header = "koord-births 1 ",
                               .what = "a file of containers that are being made",
                               .row = "birth",
                               .max_size = std::size_t{8} << 20,
                               .max_rows = 50'000};
constexpr std::string_view kNoCpus = "none";
/// Of containers that are being made; a runtime makes one within minutes, or never.
constexpr std::size_t kMost = 4096;
constexpr nanoseconds kBirth = std::chrono::minutes(10);

const PodInfo* find(const Inventory& inventory, std::string_view uid) {
  const auto& all = inventory.all_pods;
  const auto found =
      std::ranges::lower_bound(all, uid, {}, [](const auto& pod) { return std::string_view(pod->uid); });
  return found != all.end() && (*found)->uid == uid ? found->get() : nullptr;
}

const ContainerInfo* container_of(const PodInfo& pod, std::string_view name) {
  const auto found = std::ranges::find(pod.containers, name, &ContainerInfo::name);
  return found != pod.containers.end() ? &*found : nullptr;
}

std::string text_of(const KnobValue& value) {
  std::string text = to_string(value);
  return text.empty() ? std::string(kNoCpus) : text;
}

std::optional<KnobValue> value_of(host::KnobType type, std::string_view text) {
  if (type == host::KnobType::number) {
    std::int64_t number = 0;
    return host::to_number(text, number) ? std::optional<KnobValue>(number) : std::nullopt;
  }
  if (type != host::KnobType::cpus) return std::nullopt;  // no runtime sets others
  if (text == kNoCpus) return KnobValue(host::CpuSet());
  auto cpus = host::CpuSet::parse(text);
  return cpus && !cpus->empty() ? std::optional<KnobValue>(std::move(*cpus)) : std::nullopt;
}

/// A uid or a name that a runtime told: it may hold anything.
bool fits_a_row(std::string_view text) {
  return text.size() < 512 && text.find_first_of(std::string_view("\t\n\0", 3)) == std::string_view::npos;
}

}  // namespace

Births::Births(BootFile::Place place) : file_(kKind, std::move(place)) {}

Result<> Births::load(MonoTime now) {
  births_.clear();
  changed_ = false;
  auto loaded = file_.load([&](std::string_view row) { return take_row(row, now); });
  if (!loaded) births_.clear();
  return loaded;
}

bool Births::take_row(std::string_view row, MonoTime now) {
  const std::string_view name = take_field(row);
  const auto& table = host::knob_table();
  const auto knob = std::ranges::find(table, name, &host::KnobRow::name);
  if (knob == std::ranges::end(table)) return true;  // another version's
  Value value{.knob = knob->knob, .given = {}, .free = {}, .strategy = std::string(take_field(row))};
  auto given = value_of(knob->type, take_field(row));
  auto free = value_of(knob->type, take_field(row));
  const std::string_view uid = take_field(row), before = take_field(row);
  if (!given || !free || uid.empty() || row.empty()) return false;
  value.given = std::move(*given);
  value.free = std::move(*free);
  Birth& birth = births_[{std::string(uid), std::string(row)}];
  birth.before = before;
  birth.at = now;
  birth.values.push_back(std::move(value));
  return true;
}

void Births::add(const Inventory& inventory, std::string_view uid, std::string_view container,
                 std::vector<Value> values, MonoTime now) {
  if (values.empty()) return;
  if (births_.size() >= kMost) births_.clear();
  Birth birth{.values = std::move(values), .before = {}, .at = now};
  if (const PodInfo* const pod = find(inventory, uid))
    if (const ContainerInfo* const there = container_of(*pod, container)) birth.before = there->id;
  births_.insert_or_assign({std::string(uid), std::string(container)}, std::move(birth));
  looked_at_.reset();
  changed_ = true;
}

std::vector<Ahead::Given> Births::known(const std::shared_ptr<const Inventory>& inventory, MonoTime now) {
  std::vector<Ahead::Given> all;
  if (births_.empty() || looked_at_ == inventory) return all;
  looked_at_ = inventory;
  for (auto birth = births_.begin(); birth != births_.end();) {
    const PodInfo* const pod = find(*inventory, birth->first.first);
    const ContainerInfo* const container = pod ? container_of(*pod, birth->first.second) : nullptr;
    const bool known = container != nullptr && container->id != birth->second.before;
    if (known)
      for (Value& value : birth->second.values)
        all.push_back({value.knob, container->group, value.given, value.free, std::move(value.strategy)});
    const bool gone = known || now - birth->second.at > kBirth;
    changed_ = changed_ || gone;
    birth = gone ? births_.erase(birth) : std::next(birth);
  }
  return all;
}

Result<> Births::save() {
  if (!is_changed()) return {};
  std::string rows;
  for (const auto& [name, birth] : births_) {
    if (!fits_a_row(name.first) || !fits_a_row(name.second) || !fits_a_row(birth.before)) continue;
    for (const Value& value : birth.values)
      fmt::format_to(std::back_inserter(rows), "{}\t{}\t{}\t{}\t{}\t{}\t{}\n", host::row(value.knob).name,
                     value.strategy, text_of(value.given), text_of(value.free), name.first, birth.before,
                     name.second);
  }
  KOORD_CHECK(rows.empty() ? file_.remove() : file_.save(rows));
  changed_ = false;
  return {};
}

}  // namespace koord::koordlet
