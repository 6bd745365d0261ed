// NRI's events and versions: see koord/rpc/nri.hpp.
#include <algorithm>
#include <array>
#include <charconv>

#include "koord/rpc/nri.hpp"

namespace koord::rpc::nri {

namespace {

constexpr std::array<std::string_view, 15> kEvents = {
    "",
    "RunPodSandbox",
    "StopPodSandbox",
    "RemovePodSandbox",
    "CreateContainer",
    "PostCreateContainer",
    "StartContainer",
    "PostStartContainer",
    "UpdateContainer",
    "PostUpdateContainer",
    "StopContainer",
    "RemoveContainer",
    "UpdatePodSandbox",
    "PostUpdatePodSandbox",
    "ValidateContainerAdjustment",
};

struct Release {
  std::array<int, 3> number{};
  friend auto operator<=>(const Release&, const Release&) = default;
};

/// "v2.1.4", "2.1.4-rc.0", "1.7.27+ds1".
std::optional<Release> release(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  Release found;
  for (std::size_t part = 0; part < found.number.size(); ++part) {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), found.number.at(part));
    if (failed != std::errc() || found.number.at(part) < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (part == 2) return found;
    if (!text.starts_with('.')) return part == 0 ? std::nullopt : std::optional(found);
    text.remove_prefix(1);
  }
  return found;
}

/// From which release of a runtime on it has which NRI.
struct Since {
  std::string_view runtime;
  Release release;
  Version nri;
};
constexpr std::array<Since, 13> kReleases = {{
    {"containerd", {{1, 7, 0}}, {0, 3}},
    {"containerd", {{1, 7, 7}}, {0, 4}},
    {"containerd", {{1, 7, 14}}, {0, 6}},
    {"containerd", {{1, 7, 26}}, {0, 8}},
    {"containerd", {{2, 0, 0}}, {0, 8}},
    {"containerd", {{2, 2, 0}}, {0, 10}},
    {"containerd", {{2, 2, 1}}, {0, 11}},
    {"cri-o", {{1, 26, 0}}, {0, 2}},
    {"cri-o", {{1, 26, 2}}, {0, 3}},
    {"cri-o", {{1, 29, 0}}, {0, 5}},
    {"cri-o", {{1, 29, 2}}, {0, 6}},
    {"cri-o", {{1, 32, 0}}, {0, 9}},
    {"cri-o", {{1, 34, 0}}, {0, 10}},
}};

}  // namespace

std::string_view to_string(Event event) {
  const auto number = static_cast<std::size_t>(event);
  return number < kEvents.size() ? kEvents.at(number) : std::string_view();
}

Event event_named(std::string_view method) {
  const auto* const found = std::find(kEvents.begin() + 1, kEvents.end(), method);
  return found == kEvents.end() ? Event::unknown : static_cast<Event>(found - kEvents.begin());
}

std::optional<Version> version_of(std::string_view nri_version, std::string_view runtime,
                                  std::string_view runtime_version) {
  if (const auto said = release(nri_version)) return Version{said->number[0], said->number[1]};
  const auto running = release(runtime_version);
  if (!running) return std::nullopt;
  std::optional<Version> version;
  for (const Since& since : kReleases)
    if (since.runtime == runtime && since.release <= *running) version = since.nri;
  return version;
}

bool takes_cdi(std::string_view runtime, std::string_view runtime_version) {
  constexpr Release kContainerd{{2, 1, 0}}, kCrio{{1, 34, 0}};
  const auto running = release(runtime_version);
  if (!running) return false;
  return (runtime == "containerd" && *running >= kContainerd) || (runtime == "cri-o" && *running >= kCrio);
}

}  // namespace koord::rpc::nri
