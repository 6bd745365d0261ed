// What is said, as text and as JSON: see finding.hpp.
#include "migrate/finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "koord/json/writer.hpp"

namespace koord::app::migrate {

namespace {

constexpr std::array<std::string_view, 5> kVerdicts = {"same", "better", "not at all", "unknown",
                                                       "in the way"};
constexpr std::size_t kMostShown = 400;

/// Other people's text on one line of a terminal.
std::string clean(std::string_view text) {
  std::string line;
  for (const char c : text.substr(0, kMostShown))
    line += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  if (text.size() > kMostShown) line += "...";
  return line;
}

std::size_t count(const Report& report, Verdict verdict) {
  return static_cast<std::size_t>(std::ranges::count(report.findings, verdict, &Finding::verdict));
}

}  // namespace

std::string_view to_string(Verdict verdict) { return kVerdicts[static_cast<std::size_t>(verdict)]; }

bool Report::in_the_way() const { return count(*this, Verdict::in_the_way) > 0; }

std::string render(const Report& report, bool all) {
  std::string out = fmt::format("{}, Kubernetes {}\n\n", clean(report.server), clean(report.kubernetes));
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    const Finding& finding = report.findings[i];
    const auto same = [&](const Finding& other) {
      return other.verdict == Verdict::same && other.about == finding.about;
    };
    if (finding.verdict == Verdict::same && !all) {
      const auto alike = std::ranges::count_if(report.findings, same);
      const auto first = std::ranges::find_if(report.findings, same) - report.findings.begin();
      if (alike > 1) {
        if (static_cast<std::size_t>(first) == i)
          out += fmt::format("{:<10}  {}: {} lines, which --all prints\n", to_string(finding.verdict),
                             clean(finding.about), alike);
        continue;
      }
    }
    out += fmt::format("{:<10}  {}: {}\n", to_string(finding.verdict), clean(finding.about),
                       clean(finding.text));
  }
  if (!report.steps.empty()) out += "\nThe order in which to swap (packaging/docs/migrate.md):\n";
  for (std::size_t i = 0; i < report.steps.size(); ++i)
    out += fmt::format("{:>3}. {}\n", i + 1, clean(report.steps[i].text));
  out += fmt::format("\n{} the same, {} better, {} not at all, {} unknown, {} in the way\n",
                     count(report, Verdict::same), count(report, Verdict::better),
                     count(report, Verdict::not_at_all), count(report, Verdict::unknown),
                     count(report, Verdict::in_the_way));
  return out;
}

std::string render_json(const Report& report) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().member("server", report.server).member("kubernetes", report.kubernetes);
  writer.member("inTheWay", report.in_the_way());
  writer.key("findings").begin_array();
  for (const Finding& finding : report.findings)
    writer.begin_object()
        .member("verdict", to_string(finding.verdict))
        .member("about", finding.about)
        .member("text", finding.text)
        .end_object();
  writer.end_array().key("order").begin_array();
  for (const Step& step : report.steps)
    writer.begin_object().member("role", step.role).member("text", step.text).end_object();
  writer.end_array().end_object();
  out += '\n';
  return out;
}

}  // namespace koord::app::migrate
