// HeldVerdicts: verdicts whose reasons name something, for as long as somebody needs them.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "koord/scheduling/plugin/verdict.hpp"

namespace koord::scheduling {

/// Of one plugin, and of one class of pods: with that they go. Preemption may help against them.
class HeldVerdicts {
 public:
  HeldVerdicts(VerdictTable& verdicts, PluginIndex plugin) : verdicts_(verdicts), plugin_(plugin) {}
  ~HeldVerdicts() {
    for (const auto& [reasons, id] : held_) verdicts_.release(id);
  }
  HeldVerdicts(const HeldVerdicts&) = delete;
  HeldVerdicts& operator=(const HeldVerdicts&) = delete;

  VerdictId verdict(std::vector<std::string> reasons) {
    const auto [it, fresh] = held_.try_emplace(reasons, kPass);
    if (fresh) it->second = verdicts_.hold({plugin_, false, std::move(reasons)});
    return it->second;
  }
  std::size_t size() const { return held_.size(); }

 private:
  VerdictTable& verdicts_;
  PluginIndex plugin_;
  std::map<std::vector<std::string>, VerdictId> held_;
};

}  // namespace koord::scheduling
