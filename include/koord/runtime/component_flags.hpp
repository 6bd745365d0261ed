// Flags that every component of Kubernetes has (k8s.io/component-base), and that have nothing to set here.
#pragma once

#include <array>
#include <string_view>

#include "koord/runtime/flags.hpp"

namespace koord::runtime {

/// One that is accepted and does nothing; `why` is the warning where it is used.
constexpr Flag ignored_flag(std::string_view name, FlagType type, std::string_view value,
                            std::string_view help,
                            std::string_view why = "accepted, without effect in this version") {
  return {name, type, value, help, 0, "Deprecated flags", true, why};
}

/// Of metrics, logs and of how ports are served.
constexpr std::array<Flag, 16> ignored_component_flags() {
  constexpr std::string_view kLogs = "Log lines are key=value, asynchronous and bounded.";
  constexpr std::string_view kMetrics = "All metrics are shown, with the labels that they have.";
  constexpr std::string_view kHttp = "HTTP/1.1 is served alone.", kPorts = "Ports are not shared.";
  return {{
      ignored_flag("allow-metric-labels", FlagType::pairs, "", kMetrics),
      ignored_flag("allow-metric-labels-manifest", FlagType::text, "", kMetrics),
      ignored_flag("disabled-metrics", FlagType::list, "", kMetrics),
      ignored_flag("show-hidden-metrics-for-version", FlagType::text, "", kMetrics),
      ignored_flag("disable-http2-serving", FlagType::boolean, "false", kHttp),
      ignored_flag("http2-max-streams-per-connection", FlagType::integer, "0", kHttp),
      ignored_flag("permit-address-sharing", FlagType::boolean, "false", kPorts),
      ignored_flag("permit-port-sharing", FlagType::boolean, "false", kPorts),
      ignored_flag("tls-sni-cert-key", FlagType::list, "", "There is one certificate for all names."),
      ignored_flag("log-flush-frequency", FlagType::duration, "5s", kLogs),
      ignored_flag("log-json-info-buffer-size", FlagType::text, "0", kLogs),
      ignored_flag("log-json-split-stream", FlagType::boolean, "false", kLogs),
      ignored_flag("log-text-info-buffer-size", FlagType::text, "0", kLogs),
      ignored_flag("log-text-split-stream", FlagType::boolean, "false", kLogs),
      ignored_flag("logging-format", FlagType::text, "text", kLogs),
      ignored_flag("vmodule", FlagType::text, "", kLogs),
  }};
}

}  // namespace koord::runtime
