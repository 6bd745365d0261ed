// Verdicts: see verdict.hpp.
#include "koord/scheduling/plugin/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace koord::scheduling {

VerdictTable::VerdictTable() : entries_(2) {}

VerdictTable::Entry& VerdictTable::entry(Verdict verdict, VerdictId& id) {
  std::string key{static_cast<char>(verdict.plugin), verdict.unresolvable ? '1' : '0',
                  verdict.error ? '1' : '0'};
  errors_ = errors_ || verdict.error;
  for (const std::string& reason : verdict.reasons) key.append(reason).push_back('\0');
  const auto [it, added] = index_.try_emplace(std::move(key));
  if (added && free_.empty()) {
    it->second = static_cast<VerdictId>(entries_.size());
    entries_.emplace_back();
  } else if (added) {
    it->second = free_.back();
    free_.pop_back();
  }
  id = it->second;
  Entry& found = entries_[id];
  if (added) {
    found.verdict = std::move(verdict);
    found.key = &it->first;
  }
  return found;
}

VerdictId VerdictTable::intern(Verdict verdict) {
  VerdictId id;
  entry(std::move(verdict), id).kept = true;
  return id;
}

VerdictId VerdictTable::hold(Verdict verdict) {
  VerdictId id;
  ++entry(std::move(verdict), id).holders;
  return id;
}

void VerdictTable::release(VerdictId id) {
  Entry& held = entries_[id];
  if (--held.holders != 0 || held.kept) return;
  index_.erase(index_.find(*held.key));
  held = {};
  free_.push_back(id);
}

void Diagnosis::count(const Verdict& verdict, std::uint32_t nodes) {
  rejectors |= mask_of(verdict.plugin);
  for (const std::string& reason : verdict.reasons) reasons[reason] += nodes;
}

std::string fit_error(const Diagnosis& diagnosis) {
  std::string text = fmt::format("0/{} nodes are available:", diagnosis.nodes);
  if (!diagnosis.prefilter_message.empty()) {
    text = fmt::format("{} {}.", text, diagnosis.prefilter_message);
  } else if (!diagnosis.reasons.empty()) {
    std::vector<std::string> parts;
    parts.reserve(diagnosis.reasons.size());
    for (const auto& [reason, count] : diagnosis.reasons)
      parts.push_back(fmt::format("{} {}", count, reason));
    std::sort(parts.begin(), parts.end());
    text = fmt::format("{} {}.", text, fmt::join(parts, ", "));
  }
  if (diagnosis.postfilter_message.empty()) return text;
  return fmt::format("{} {}", text, diagnosis.postfilter_message);
}

}  // namespace koord::scheduling
