// Verdicts: see verdict.hpp.
#include "framework/verdict.hpp"

#include <algorithm>

namespace koord::scheduler {

VerdictTable::VerdictTable() : verdicts_(2) {}

VerdictId VerdictTable::intern(Verdict verdict) {
  std::string key{static_cast<char>(verdict.plugin), verdict.unresolvable ? '1' : '0'};
  for (const std::string& reason : verdict.reasons) key.append(reason).push_back('\0');
  auto [it, added] = index_.try_emplace(std::move(key), static_cast<VerdictId>(verdicts_.size()));
  if (added) verdicts_.push_back(std::move(verdict));
  return it->second;
}

std::string fit_error(const Diagnosis& diagnosis) {
  std::string text = "0/" + std::to_string(diagnosis.nodes) + " nodes are available:";
  if (!diagnosis.prefilter_message.empty()) return text + " " + diagnosis.prefilter_message + ".";
  std::vector<std::string> parts;
  parts.reserve(diagnosis.reasons.size());
  for (const auto& [reason, count] : diagnosis.reasons) parts.push_back(std::to_string(count) + " " + reason);
  std::sort(parts.begin(), parts.end());
  for (std::size_t i = 0; i < parts.size(); ++i) text.append(i == 0 ? " " : ", ").append(parts[i]);
  if (!parts.empty()) text.push_back('.');
  return text;
}

}  // namespace koord::scheduler
