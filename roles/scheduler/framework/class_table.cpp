// ClassTable: see class_table.hpp.
#include "framework/class_table.hpp"

#include <algorithm>
#include <vector>

namespace koord::scheduler {

namespace {
constexpr std::size_t kIdleClasses = 4096;  // classes without pods that are remembered
}

PodClass& ClassTable::acquire(const Profile& profile, const PodInfo& pod) {
  signature_.clear();
  signature_.add(profile.scheduler_name);
  bool shared = true;
  for (const auto& made : profile.plugins) shared = shared && made.plugin->sign(pod, signature_);
  if (!shared) {
    signature_.clear();
    signature_.add(static_cast<std::int64_t>(++unsigned_));
  }
  auto it = classes_.find(signature_.bytes());
  if (it == classes_.end()) {
    if (classes_.size() > kIdleClasses)
      std::erase_if(classes_, [&](auto& entry) {
        if (entry.second.pods != 0) return false;
        if (entry.second.state) {
          bytes_ -= entry.second.state->bytes();
          --states_;
        }
        return true;
      });
    it = classes_.emplace(signature_.bytes(), PodClass{&profile, pod, {}, {}, 0, 0, shared}).first;
    it->second.key = &it->first;
  }
  ++it->second.pods;
  return it->second;
}

void ClassTable::release(PodClass& cls) {
  if (--cls.pods != 0 || cls.shared) return;
  if (cls.state) {
    bytes_ -= cls.state->bytes();
    --states_;
  }
  classes_.erase(classes_.find(*cls.key));
}

ClassState& ClassTable::state(PodClass& cls) {
  cls.used = ++uses_;
  if (!cls.state) {
    cls.state = std::make_unique<ClassState>(*cls.profile, nodes_, verdicts_, cls.sample);
    bytes_ += cls.state->bytes();
    ++states_;
  }
  std::size_t before = cls.state->bytes();
  cls.state->update(scratch_);
  bytes_ += cls.state->bytes() - before;
  if (bytes_ > memory_) shrink(cls);
  return *cls.state;
}

/// Down to three quarters, so that it is not done for every pod.
void ClassTable::shrink(const PodClass& keep) {
  std::vector<PodClass*> holders;
  for (auto& [key, cls] : classes_)
    if (cls.state && &cls != &keep) holders.push_back(&cls);
  std::sort(holders.begin(), holders.end(), [](auto* a, auto* b) { return a->used < b->used; });
  for (PodClass* cls : holders) {
    if (bytes_ <= memory_ / 4 * 3) break;
    bytes_ -= cls->state->bytes();
    --states_;
    cls->state.reset();
  }
}

}  // namespace koord::scheduler
