// ClassTable: see class_table.hpp.
#include "koord/scheduling/classes/class_table.hpp"

#include <algorithm>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduling {

namespace {

std::size_t weight(const std::string& key, const PodInfo& pod) {
  constexpr std::size_t kClass = 512,
                        kName = 256;  // with its state's preparations; a resource's name and number
  std::size_t all = kClass + key.size() + pod.requests.scalars.size() * kName;
  for (const auto& [name, value] : pod.pod->metadata.annotations) all += name.size() + value.size();
  return all;
}

}  // namespace

PodClass& ClassTable::acquire(const Profile& profile, const PodInfo& pod) {
  signature_.clear();
  signature_.add(profile.scheduler_name);
  bool shared = true;
  for (const auto& made : profile.plugins) shared = shared && made.plugin->sign(pod, signature_);
  if (!shared) {
    signature_.clear();
    signature_.add(static_cast<std::int64_t>(++unsigned_));
  }
  const auto [it, added] = classes_.try_emplace(signature_.bytes(), profile, pod, shared);
  PodClass& cls = it->second;
  if (added) {
    cls.key = &it->first;
    cls.weight = weight(it->first, pod);
  } else if (cls.pods == 0) {
    unlist(cls);
  }
  ++cls.pods;
  return cls;
}

void ClassTable::release(PodClass& cls) {
  if (--cls.pods != 0) return;
  if (!cls.shared) {
    classes_.erase(classes_.find(*cls.key));
    return;
  }
  cls.idle = idle_.insert(idle_.end(), &cls);
  idle_weight_ += cls.weight;
  while (idle_.size() > kIdle || (idle_weight_ > kIdleWeight && idle_.size() > 1)) {
    const std::string& oldest = *idle_.front()->key;
    unlist(*idle_.front());
    classes_.erase(classes_.find(oldest));
  }
}

/// It is not idle any more.
void ClassTable::unlist(PodClass& cls) {
  idle_.erase(cls.idle);
  idle_weight_ -= cls.weight;
}

ClassState& ClassTable::state(PodClass& cls, const PodInfo& pod, ClassState::Rows rows) {
  memory_.limit(std::max(options_.floor, options_.per_node * nodes_.nodes()));
  memory_.next_turn();
  memory_.touch(cls);
  if (cls.state) {
    cls.state->update(pod, rows);
    memory_.resize(cls, cls.state->bytes());
    return *cls.state;
  }
  auto made = std::make_unique<ClassState>(*cls.profile, shared_, cls.sample);
  made->update(pod, rows);
  // Several pods wait: it will be asked for again.
  const bool kept = made->worth_keeping() && memory_.admit(cls, made->bytes(), cls.pods > 1);
  std::unique_ptr<ClassState>& place = kept ? cls.state : transient_;
  place = std::move(made);
  return *place;
}

}  // namespace koord::scheduling
