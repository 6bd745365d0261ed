// Actions: see actions.hpp. The rows of its file, an action each:
//   STRATEGY<tab>KIND<tab>STATE<tab>NANOSECONDS<tab>UID[<tab>GROUP]...
#include "framework/action/actions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

constexpr BootFile::Kind kKind{.header = "koord-actions 1 ",
                               .what = "a file of actions",
                               .row = "action",
                               .max_size = std::size_t{4} << 20,
                               .max_rows = 10'000};
constexpr std::string_view kReason = "evicted";  // upstream's, of all evictions
constexpr std::size_t kMaxGroups = 256;
constexpr nanoseconds kHour = std::chrono::hours(1);
/// How long a group that was stopped takes to give its memory back, and how long it takes at most until the
/// kubelet tells of a pod that it goes.
constexpr nanoseconds kSettles = std::chrono::seconds(10);
constexpr nanoseconds kLogAgain = std::chrono::minutes(5);
constexpr nanoseconds kFirstRetry = std::chrono::seconds(5), kLastRetry = std::chrono::seconds(60);
/// Upstream drops a series that nobody has counted in for so long.
constexpr nanoseconds kDetailShown = std::chrono::minutes(5);

constexpr metrics::Metric kEvictions{.name = "koordlet_pod_eviction",
                                     .help = "Pods that the agent has evicted or stopped.",
                                     .labels = {"reason"}};
constexpr metrics::Metric kDetails{.name = "koordlet_pod_eviction_detail",
                                   .help = "The same by pod, for five minutes.",
                                   .labels = {"pod_namespace", "pod_name", "reason"}};

constexpr std::string_view kRunning = "begun", kDone = "done";

bool fits_a_field(std::string_view text) {
  return !text.empty() && text.find_first_of("\t\n") == std::string_view::npos;
}

bool named_nothing(const std::vector<std::string>& groups) {
  return std::any_of(groups.begin(), groups.end(), [](const std::string& group) { return group.empty(); });
}

}  // namespace

const metrics::Table Actions::kMetrics = {&kEvictions, &kDetails};

std::string_view to_string(ActionKind kind) { return kind == ActionKind::evict_pod ? "evict" : "stop"; }

std::vector<std::string> groups_to_stop(const PodInfo& pod) {
  std::vector<std::string> groups;
  groups.reserve(pod.containers.size() + 1);
  for (const ContainerInfo& container : pod.containers) groups.push_back(container.group);
  if (groups.empty() && !pod.object) groups.push_back(pod.group);
  return groups;
}

Actions::Actions(Options options, ActionRunner& runner, Clock& clock, Logger log, metrics::Registry& metrics)
    : options_(std::move(options)),
      file_(kKind, options_.file),
      runner_(runner),
      clock_(clock),
      log_(std::move(log)),
      evictions_(metrics.counters(kEvictions)),
      details_(metrics.counters(kDetails)) {}

Result<std::vector<std::string>> Actions::load() {
  rows_.clear();
  std::vector<Row> rows;
  KOORD_CHECK(file_.load([&](std::string_view line) {
    auto row = parse(line);
    if (row) rows.push_back(std::move(*row));
    return row.has_value();
  }));
  rows_ = std::move(rows);
  std::vector<std::string> groups;
  for (Row& row : rows_) {
    row.id = ++last_id_;
    if (row.state != State::running) continue;
    row.state = State::unsure;
    row.shows_at = row.retry_at = row.begun + kSettles;
    groups.insert(groups.end(), row.groups.begin(), row.groups.end());
  }
  return groups;
}

std::optional<Actions::Row> Actions::parse(std::string_view line) const {
  Row row;
  row.strategy = take_field(line);
  const std::string_view kind = take_field(line);
  const std::string_view state = take_field(line);
  std::int64_t begun = 0;
  const bool timed = host::to_number(take_field(line), begun);
  row.uid = take_field(line);
  row.kind = kind == to_string(ActionKind::evict_pod) ? ActionKind::evict_pod : ActionKind::stop_pod;
  row.state = state == kRunning ? State::running : State::done;
  while (!line.empty() && row.groups.size() < kMaxGroups) row.groups.emplace_back(take_field(line));
  if (!timed || row.uid.empty() || kind != to_string(row.kind) || !line.empty() ||
      (state != kRunning && state != kDone) || named_nothing(row.groups))
    return std::nullopt;
  // The clock begins and only goes forward in one boot.
  row.begun = std::clamp(MonoTime(nanoseconds(begun)), MonoTime(), clock_.mono());
  return row;
}

void Actions::save() {
  std::string text;
  for (const Row& row : rows_) {
    if (row.state == State::failed || row.state == State::dry) continue;
    fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\t{}\t{}", row.strategy, to_string(row.kind),
                   row.state == State::done ? kDone : kRunning, row.begun.time_since_epoch().count(),
                   row.uid);
    if (row.state == State::running || clock_.mono() - row.begun < options_.going)
      for (const std::string& group : row.groups) text.append("\t").append(group);
    text += '\n';
  }
  const auto saved = file_.save(text);
  if (saved) {
    save_failed_.reset();
    return;
  }
  // Protecting goes before remembering.
  if (save_failed_ && clock_.mono() - *save_failed_ < kLogAgain) return;
  save_failed_ = clock_.mono();
  log_.warn("cannot write down who is evicted; an agent that starts after a crash will not know of it",
            kv("error", saved.error()));
}

bool Actions::is_overdue(const Row& row) const {
  return row.state == State::running && clock_.mono() - row.begun > options_.patience;
}

/// A container that was stopped and started again is another one; of a plain group that cannot be told.
bool Actions::goes_on(const Row& row, const PodInfo& pod) const {
  const nanoseconds age = clock_.mono() - row.begun;
  if (row.kind == ActionKind::evict_pod) return age < options_.going;
  if (pod.containers.empty() && !pod.object) return age < kSettles;
  const auto& stopped = row.groups;
  return age < options_.going &&
         std::all_of(pod.containers.begin(), pod.containers.end(), [&](const ContainerInfo& container) {
           return std::find(stopped.begin(), stopped.end(), container.group) != stopped.end();
         });
}

const Actions::Row* Actions::find(std::string_view uid, std::string_view strategy) const {
  const auto it = std::find_if(rows_.rbegin(), rows_.rend(), [&](const Row& row) {
    return row.uid == uid && (row.state != State::dry || row.strategy == strategy);
  });
  return it == rows_.rend() ? nullptr : &*it;
}

bool Actions::is_spared(const PodInfo& pod) const {
  return !pod.never_stop.empty() || (!options_.own_pod.empty() && pod.uid == options_.own_pod);
}

Standing Actions::standing(const PodInfo& pod, std::string_view strategy) const {
  if (is_spared(pod)) return Standing::spared;
  const Row* row = find(pod.uid, strategy);
  const MonoTime now = clock_.mono();
  if (row) {
    const bool done = row->state == State::done || row->state == State::dry;
    // Nothing is begun twice, however long it takes.
    if (row->state == State::running) return is_overdue(*row) ? Standing::refused : Standing::pending;
    if (row->state == State::unsure && now < row->shows_at) return Standing::pending;
    if (!done && now < row->retry_at) return Standing::refused;
    if (done && goes_on(*row, pod)) return Standing::pending;
  }
  // Somebody else asked it to go; killing its containers helps all the same, asking again does not.
  if (options_.only_by_api && pod.deleted_by && clock_.now() < *pod.deleted_by) return Standing::pending;
  return Standing::free;
}

bool Actions::is_cooling(std::string_view strategy, nanoseconds cool) const {
  return std::any_of(rows_.begin(), rows_.end(), [&](const Row& row) {
    if (row.strategy != strategy || row.state == State::failed) return false;
    return row.state == State::running ? !is_overdue(row) : clock_.mono() - row.begun < cool;
  });
}

std::int64_t Actions::room(std::string_view strategy) const {
  const auto free = static_cast<std::int64_t>(kKind.max_rows - rows_.size());
  if (options_.per_hour <= 0) return free;
  const auto lately = std::count_if(rows_.begin(), rows_.end(), [&](const Row& row) {
    return row.state != State::failed && (row.state != State::dry || row.strategy == strategy) &&
           clock_.mono() - row.begun < kHour;
  });
  return std::clamp<std::int64_t>(options_.per_hour - lately, 0, free);
}

bool Actions::begin(Action action, bool dry) {
  if (standing(*action.pod, action.strategy) != Standing::free || room(action.strategy) <= 0) return false;
  action.kind = options_.only_by_api ? ActionKind::evict_pod : ActionKind::stop_pod;
  Row row;
  row.strategy = action.strategy;
  row.uid = action.pod->uid;
  row.kind = action.kind;
  row.state = dry ? State::dry : State::running;
  row.begun = clock_.mono();
  row.id = ++last_id_;
  if (const Row* before = find(row.uid, row.strategy)) {
    if (before->state == State::failed || before->state == State::unsure) row.failures = before->failures;
    // What failed, or was only told, says no more than this one will: a pod that is refused for ever has one.
    if (before->state == State::failed || before->state == State::dry)
      rows_.erase(rows_.begin() + (before - rows_.data()));
  }
  row.ns = action.pod->ns;
  row.name = action.pod->name;
  if (action.kind == ActionKind::stop_pod)
    for (std::string& group : groups_to_stop(*action.pod))
      if (row.groups.size() < kMaxGroups && fits_a_field(group)) row.groups.push_back(std::move(group));
  if (dry) {
    log_.info("a pod would be evicted, were its strategy not on trial",
              kv("pod", fmt::format("{}/{}", row.ns, row.name)), kv("strategy", row.strategy),
              kv("why", action.message));
    rows_.push_back(std::move(row));
    return true;
  }
  rows_.push_back(std::move(row));
  save();  // before anything happens
  runner_.run(action, [this, id = last_id_](const Result<>& outcome) { finish(id, outcome); });
  return true;
}

void Actions::finish(std::uint64_t id, const Result<>& outcome) {
  const auto it = std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.id == id; });
  if (it == rows_.end()) return;
  Row& row = *it;
  const bool gone = !outcome && outcome.error().code() == Code::not_found;  // by itself: nobody evicted it
  if (outcome || gone) {
    row.state = State::done;
    row.failures = 0;
  } else {
    row.state = outcome.error().code() == Code::timeout ? State::unsure : State::failed;
    nanoseconds wait = kFirstRetry;
    for (std::uint32_t i = 0; i < row.failures && wait < kLastRetry; ++i) wait *= 2;
    if (const auto asked = outcome.error().retry_after()) wait = std::max<nanoseconds>(wait, *asked);
    ++row.failures;
    row.shows_at = clock_.mono() + kSettles;
    row.retry_at = (row.state == State::unsure ? row.shows_at : clock_.mono()) + std::min(wait, kLastRetry);
  }
  if (outcome) {
    evictions_.with({kReason}).inc();
    details_.with({row.ns, row.name, kReason}).inc();
    shown_[{row.ns, row.name}] = clock_.mono();
  }
  save();
}

/// What the hour and the cool-downs, which may be longer, are counted by.
bool Actions::is_needed(const Row& row) const {
  if (row.state == State::running || clock_.mono() - row.begun <= kHour + options_.going) return true;
  return row.state != State::failed && std::none_of(rows_.begin(), rows_.end(), [&](const Row& other) {
           return other.id > row.id && other.strategy == row.strategy && other.state != State::failed;
         });
}

/// Who was asked to go is told so by the kubelet, or is no more; false: nothing is to be said of the row.
bool Actions::settle(Row& row, const Inventory& inventory, std::optional<MonoTime> listed) const {
  if (row.state != State::unsure || row.kind != ActionKind::evict_pod) return false;
  if (!listed || *listed < row.shows_at) return false;
  const auto& pods = inventory.all_pods;
  const auto pod =
      std::find_if(pods.begin(), pods.end(), [&](const auto& one) { return one->uid == row.uid; });
  row.state = pod == pods.end() || (*pod)->deleted_by ? State::done : State::failed;
  return true;
}

void Actions::tick(const Inventory& inventory, std::optional<MonoTime> listed) {
  const MonoTime now = clock_.mono();
  std::erase_if(shown_, [&](const auto& shown) {
    if (now - shown.second < kDetailShown) return false;
    details_.remove({shown.first.first, shown.first.second, kReason});
    return true;
  });
  bool changed = file_.is_stale();  // what could not be written is tried again
  for (auto it = rows_.begin(); it != rows_.end();) {
    changed = settle(*it, inventory, listed) || changed;
    if (is_needed(*it)) {
      ++it;
      continue;
    }
    changed = changed || (it->state != State::failed && it->state != State::dry);
    it = rows_.erase(it);
  }
  if (changed) save();
}

std::string own_pod_uid(std::string_view mountinfo) {
  // "... /var/lib/kubelet/pods/UID/etc-hosts /etc/hosts ...": the fourth word is the place on its disk. Only
  // the file that the kubelet makes for each pod tells: a pod may have the folders of others mounted.
  constexpr std::string_view kBefore = "/pods/", kBehind = "/etc-hosts /etc/hosts ";
  std::string_view line;
  while (host::next_line(mountinfo, line)) {
    const auto behind = line.find(kBehind);
    if (behind == std::string_view::npos) continue;
    const auto before = line.substr(0, behind).rfind(kBefore);
    if (before == std::string_view::npos) continue;
    const std::string_view uid = line.substr(before + kBefore.size(), behind - before - kBefore.size());
    if (!uid.empty() && uid.find_first_of("/ ") == std::string_view::npos) return std::string(uid);
  }
  return {};
}

}  // namespace koord::koordlet
