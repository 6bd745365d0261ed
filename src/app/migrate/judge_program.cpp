// A command line, flag by flag and gate by gate, by the tables of the role: see judge.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "koord/base/feature_gate.hpp"
#include "koord/base/suggest.hpp"
#include "koord/runtime/flags.hpp"
#include "migrate/judge.hpp"

namespace koord::app::migrate {

namespace {

using runtime::RoleDescriptor;

constexpr std::string_view kGates = "feature-gates";

/// What koord does beside the same, where it is proved (packaging/COMPATIBILITY.md).
struct Better {
  std::string_view role, text;
};
constexpr Better kBetter[] = {
    {"koordlet",
     "what is held back is written down before it is done, so that an agent that crashed, and --cleanup, "
     "give "
     "it back; a second agent on a node ends and says who runs there"},
    {"manager",
     "what slo-controller-config said when it could be read last outlives a restart; webhooks never ask "
     "about "
     "kube-system and koord's own namespace, and wait 3 s where the entries are koord's own"},
    {"scheduler", "koord explain pod NAMESPACE/NAME says why a pod waits, node by node"},
    {"descheduler", "koord deschedule --dry-run shows a pass without evicting"},
};

/// "--NAME", "-NAME" or "--NAME=VALUE": the name with '-' for '_'; empty: it is no flag.
std::string name_of(std::string_view argument) {
  if (!argument.starts_with('-') || argument == "-" || argument == "--") return "";
  argument.remove_prefix(argument.starts_with("--") ? 2 : 1);
  std::string name(argument.substr(0, argument.find('=')));
  std::ranges::replace(name, '_', '-');
  return name;
}

bool has_no_effect(const FeatureGate& gate) {
  return gate.help == kNoEffectYet || gate.help.starts_with("Without effect") ||
         gate.help.starts_with("No effect");
}

void judge_gates(const Program& program, const RoleDescriptor& role, std::string_view text,
                 Findings& findings) {
  const auto say = [&](Verdict verdict, std::string what) {
    findings.push_back({verdict, program.workload, std::move(what)});
  };
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    const std::string setting(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::string name = setting.substr(0, setting.find('='));
    if (name.empty()) continue;
    const auto row = std::ranges::find(role.gates, name, &FeatureGate::name);
    FeatureGates gates(role.gates);
    if (auto set = gates.set(setting); !set) {
      say(Verdict::in_the_way, fmt::format("--feature-gates: {}: {}; koord would not start with it", setting,
                                           set.error().message()));
    } else if (row != role.gates.end() && has_no_effect(*row)) {
      say(Verdict::not_at_all, fmt::format("--feature-gates: {}: koord takes it, without effect", setting));
    } else {
      say(Verdict::same, fmt::format("--feature-gates: {}", setting));
    }
  }
}

/// One flag as it stands on the command line: alone, or with the word after it. How many words it took.
std::size_t judge_flag(const Program& program, const RoleDescriptor& role, const Tables& tables,
                       std::size_t at, Findings& findings) {
  const auto say = [&](Verdict verdict, std::string what) {
    findings.push_back({verdict, program.workload, std::move(what)});
  };
  const std::string& word = program.arguments[at];
  const std::string name = name_of(word);
  const runtime::FlagOwner process{"", tables.process, false}, owner{role.name, role.flags, role.single_dash};
  std::vector<std::string> words = {word};
  auto parsed = runtime::parse_flags(words, process, {&owner, 1});
  std::size_t taken = 1;
  const bool has_next = at + 1 < program.arguments.size() && !program.arguments[at + 1].starts_with('-');
  if (!parsed && !name.empty() && has_next && word.find('=') == std::string::npos) {
    words.push_back(program.arguments[at + 1]);
    auto both = runtime::parse_flags(words, process, {&owner, 1});
    if (both) parsed = std::move(both);
    taken = 2;
  }
  const std::string shown = taken == 2 ? fmt::format("{} {}", word, program.arguments[at + 1]) : word;
  const bool is_open = shown.find("$(") != std::string::npos;
  if (name == kGates) {
    const std::string_view text =
        taken == 2 ? std::string_view(program.arguments[at + 1])
                   : std::string_view(word).substr(std::min(word.find('='), word.size() - 1) + 1);
    judge_gates(program, role, text, findings);
  } else if (!parsed && is_open) {
    say(Verdict::unknown, fmt::format("{}: what it stands for is not written in the workload", shown));
  } else if (!parsed) {
    say(Verdict::in_the_way,
        fmt::format("{}: {}; koord would not start with it: take it away", shown, parsed.error().message()));
  } else if (!parsed->warnings.empty()) {
    say(Verdict::not_at_all, fmt::format("{}: {}", shown, parsed->warnings.front()));
  } else {
    say(Verdict::same, shown);
  }
  return taken;
}

void judge_version(const Program& program, Findings& findings) {
  std::string_view tag = program.image;
  tag = tag.substr(tag.rfind('/') + 1);
  const auto colon = tag.find(':');
  tag = colon == std::string_view::npos ? std::string_view() : tag.substr(colon + 1);
  tag = tag.substr(0, tag.find('@'));
  std::string_view number = tag.starts_with('v') ? tag.substr(1) : tag;
  int major = -1, minor = -1;
  const auto dot = number.find('.');
  (void)std::from_chars(number.data(), number.data() + number.size(), major);
  if (dot != std::string_view::npos)
    (void)std::from_chars(number.data() + dot + 1, number.data() + number.size(), minor);
  const auto say = [&](Verdict verdict, std::string what) {
    findings.push_back({verdict, program.workload, std::move(what)});
  };
  if (minor < 0 || major < 0)
    say(Verdict::unknown,
        fmt::format("the image {} does not say its version; koord is compared with v1.8", program.image));
  else if (major > 1 || minor > 8)
    say(Verdict::unknown,
        fmt::format("version {}: koord is compared with v1.8, and does not know what is newer", tag));
  else if (major == 1 && minor == 8)
    say(Verdict::same, fmt::format("version {}: the one that koord is compared with", tag));
  else
    say(Verdict::better, fmt::format("version {}: koord does what v1.8 does, with v1.8's defaults", tag));
}

}  // namespace

std::string flag_of(const Program& program, std::string_view name) {
  std::string value;
  for (std::size_t i = 0; i < program.arguments.size(); ++i) {
    const std::string& word = program.arguments[i];
    if (name_of(word) != name) continue;
    const auto equals = word.find('=');
    if (equals != std::string::npos)
      value = word.substr(equals + 1);
    else if (i + 1 < program.arguments.size())
      value = program.arguments[i + 1];
  }
  return value;
}

void judge_program(const Program& program, const Tables& tables, Findings& findings) {
  const auto say = [&](Verdict verdict, std::string what) {
    findings.push_back({verdict, program.workload, std::move(what)});
  };
  const auto role = std::ranges::find_if(
      tables.roles, [&](const RoleDescriptor* one) { return one->name == program.role; });
  if (role == tables.roles.end()) {
    if (!program.is_koord) say(Verdict::not_at_all, fmt::format("koord has no {}", program.program));
    return;
  }
  if (program.is_koord) {
    say(Verdict::same, fmt::format("is koord already ({})", program.image));
    return;
  }
  judge_version(program, findings);
  if (!program.unreadable.empty()) {
    say(Verdict::unknown, fmt::format("its command line cannot be judged: {}", program.unreadable));
    return;
  }
  for (std::size_t at = 0; at < program.arguments.size();)
    at += judge_flag(program, **role, tables, at, findings);
  for (const Better& row : kBetter)
    if (row.role == program.role) say(Verdict::better, std::string(row.text));
}

}  // namespace koord::app::migrate
