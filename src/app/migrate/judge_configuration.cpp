// ConfigMaps, by the parsers of the roles that read them: see judge.hpp.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "koord/json/value.hpp"
#include "migrate/judge.hpp"
#include "roles/descheduler/judged.hpp"
#include "roles/manager/judged.hpp"
#include "roles/scheduler/judged.hpp"

namespace koord::app::migrate {

namespace {

void judge_slo(const std::string& about, const api::ConfigMap& map, Findings& findings) {
  for (const manager::JudgedKey& key : manager::judge_slo_config(map)) {
    if (!key.known)
      findings.push_back(
          {Verdict::not_at_all, about, fmt::format("{}: koord's manager reads no such key", key.key)});
    else if (key.problems.empty())
      findings.push_back({Verdict::same, about, key.key});
    for (const std::string& problem : key.problems)
      findings.push_back(
          {Verdict::in_the_way, about,
           key.unread ? fmt::format("{}: {}. A manager that runs keeps to what the key said before; one that "
                                    "starts, of either, does not know that: put it right first",
                                    key.key, problem)
                      : fmt::format("{}: {}", key.key, problem)});
  }
}

/// The file that a program's --config names, in the ConfigMap that it is mounted from; nullptr: none is.
const std::string* text_of(const Facts& facts, const Program& program, const std::string& path,
                           std::string& place) {
  auto file = program.files.find(path);
  std::string key = file != program.files.end() ? file->second.key : "";
  if (file == program.files.end()) {
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) return nullptr;
    file = program.files.find(path.substr(0, slash));
    key = path.substr(slash + 1);
  }
  if (file == program.files.end()) return nullptr;
  const auto map = facts.config_maps.find(file->second.config_map);
  place = fmt::format("ConfigMap {}", file->second.config_map);
  return map == facts.config_maps.end() ? nullptr : map->second.data.find(key);
}

void judge_component(const Facts& facts, const Program& program, Findings& findings) {
  const std::string path = flag_of(program, "config");
  if (path.empty()) return;
  std::string about = program.workload;
  const std::string* text = text_of(facts, program, path, about);
  if (text == nullptr) {
    findings.push_back({Verdict::unknown, about,
                        fmt::format("{} is in no ConfigMap that could be read: try it with koord --role={} "
                                    "--config=FILE",
                                    path, program.role)});
    return;
  }
  const auto profiles = program.role == "scheduler"
                            ? scheduler::judge_configuration(*text, path, flag_of(program, "feature-gates"))
                            : descheduler::judge_configuration(*text, path);
  if (!profiles)
    findings.push_back({Verdict::in_the_way, about, profiles.error().message()});
  else
    findings.push_back(
        {Verdict::same, about,
         fmt::format("{}: read, completed and valid; its profiles: {}", path, fmt::join(*profiles, ", "))});
}

}  // namespace

void judge_configuration(const Facts& facts, Findings& findings) {
  std::vector<std::string> judged;
  for (const Program& program : facts.programs) {
    if (program.is_koord) continue;
    if (program.role == "scheduler" || program.role == "descheduler")
      judge_component(facts, program, findings);
    if (program.role != "manager") continue;
    for (const auto& [name, map] : facts.config_maps) {
      const bool slo = name == slo_config_of(program);
      if (!slo || std::ranges::find(judged, name) != judged.end()) continue;
      judged.push_back(name);
      judge_slo(fmt::format("ConfigMap {}", name), map, findings);
    }
  }
  for (const auto& [name, why] : facts.missing_maps)
    findings.push_back({Verdict::unknown, fmt::format("ConfigMap {}", name), why});
}

std::string slo_config_of(const Program& program) {
  const std::string ns = flag_of(program, "config-namespace"), name = flag_of(program, "slo-config-name");
  return fmt::format("{}/{}", ns.empty() ? "koordinator-system" : ns,
                     name.empty() ? "slo-controller-config" : name);
}

}  // namespace koord::app::migrate
