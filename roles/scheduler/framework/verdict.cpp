// Verdicts: see verdict.hpp.
#include "framework/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace koord::scheduler {

VerdictTable::VerdictTable() : verdicts_(2) {}

VerdictId VerdictTable::intern(Verdict verdict) {
  std::string key{static_cast<char>(verdict.plugin), verdict.unresolvable ? '1' : '0',
                  verdict.error ? '1' : '0'};
  errors_ = errors_ || verdict.error;
  for (const std::string& reason : verdict.reasons) key.append(reason).push_back('\0');
  auto [it, added] = index_.try_emplace(std::move(key), static_cast<VerdictId>(verdicts_.size()));
  if (added) verdicts_.push_back(std::move(verdict));
  return it->second;
}

void Diagnosis::count(const Verdict& verdict, std::uint32_t nodes) {
  rejectors |= mask_of(verdict.plugin);
  for (const std::string& reason : verdict.reasons) reasons[reason] += nodes;
}

std::string fit_error(const Diagnosis& diagnosis) {
  std::string text = fmt::format("0/{} nodes are available:", diagnosis.nodes);
  if (!diagnosis.prefilter_message.empty()) return fmt::format("{} {}.", text, diagnosis.prefilter_message);
  if (diagnosis.reasons.empty()) return text;
  std::vector<std::string> parts;
  parts.reserve(diagnosis.reasons.size());
  for (const auto& [reason, count] : diagnosis.reasons) parts.push_back(fmt::format("{} {}", count, reason));
  std::sort(parts.begin(), parts.end());
  return fmt::format("{} {}.", text, fmt::join(parts, ", "));
}

}  // namespace koord::scheduler
