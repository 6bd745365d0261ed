// Flags: see flags.hpp.
#include "options/flags.hpp"

#include <fmt/format.h>

#include <array>

#include "koord/api/koordinator/runtime_proxy.hpp"

namespace koord::proxy {

namespace {

using runtime::Flag;
using runtime::FlagType;

constexpr std::string_view kOwn = "koord's own", kScheme = "unix://";
constexpr std::size_t kLongestPath = 107;  // a socket's, as the kernel has it

constexpr std::array<Flag, 9> kFlags = {{
    {"koord-runtimeproxy-endpoint", FlagType::text, "/var/run/koord-runtimeproxy/runtimeproxy.sock",
     "The socket that the kubelet is pointed at: a path, or unix://PATH."},
    {"remote-runtime-service-endpoint", FlagType::text, "/var/run/containerd/containerd.sock",
     "The socket of the container runtime behind it: a path, or unix://PATH."},
    {"backend-runtime-mode", FlagType::text, "Containerd",
     "Containerd: the back end speaks the CRI, whoever it is. Docker: it speaks Docker's HTTP."},
    {"runtime-hook-server-key", FlagType::text, api::kSkipHookServer,
     "Pods with this label are a hook server's own: no hook server is asked about them."},
    {"runtime-hook-server-val", FlagType::text, "true", "The value of that label."},
    {"addr", FlagType::text, "0",
     "Where /metrics, /healthz and /readyz are served as plain HTTP: ADDRESS:PORT, as 127.0.0.1:9331; \"0\" "
     "serves nothing.",
     0, kOwn},
    {"hook-timeout", FlagType::duration, "1s",
     "How long a hook server may take for its answer. One that takes longer is left alone for a while, and "
     "what "
     "its policy says is done at once.",
     0, kOwn},
    {"hook-config-dir", FlagType::text, "/etc/runtime/hookserver.d",
     "The folder of the files that name hook servers; others than root must not be able to write there.", 0,
     kOwn},
    {"store-file", FlagType::text, "",
     "Where it keeps what hooks said of the pods and containers that there are, for its next start; "
     "hook-files.json beside it keeps what hook servers' files said last. Others than root must not be able "
     "to write there. Empty: store.json beside its socket.",
     0, kOwn},
}};

Result<std::string> socket_path(const runtime::FlagValues& flags, std::string_view name) {
  std::string_view path = flags.get(name);
  if (path.starts_with(kScheme)) path.remove_prefix(kScheme.size());
  if (path.empty() || path.front() != '/' || path.size() > kLongestPath)
    return Error(Code::invalid, fmt::format("--{}: not the absolute path of a socket, {} bytes at most", name,
                                            kLongestPath));
  return std::string(path);
}

}  // namespace

std::span<const Flag> flags() { return kFlags; }

Result<Options> read_options(const runtime::FlagValues& flags) {
  Options options;
  KOORD_TRY(endpoint, socket_path(flags, "koord-runtimeproxy-endpoint"));
  KOORD_TRY(backend, socket_path(flags, "remote-runtime-service-endpoint"));
  if (endpoint == backend)
    return Error(Code::invalid,
                 "--koord-runtimeproxy-endpoint: the same as --remote-runtime-service-endpoint");
  const std::string& mode = flags.get("backend-runtime-mode");
  if (mode != "Containerd" && mode != "Docker")
    return Error(Code::invalid,
                 fmt::format("--backend-runtime-mode: \"{}\" is neither Containerd nor Docker", mode));
  options.docker = mode == "Docker";
  options.skip_key = flags.get("runtime-hook-server-key");
  options.skip_value = flags.get("runtime-hook-server-val");
  options.hook_timeout = flags.get_duration("hook-timeout");
  if (options.hook_timeout < std::chrono::milliseconds(1) || options.hook_timeout > std::chrono::minutes(2))
    return Error(Code::invalid, "--hook-timeout: not between 1ms and 2m");
  options.hook_folder = flags.get("hook-config-dir");
  if (!options.hook_folder.starts_with('/'))
    return Error(Code::invalid, "--hook-config-dir: not an absolute path");
  options.store_file = flags.get("store-file");
  if (options.store_file.empty())
    options.store_file = fmt::format("{}/store.json", endpoint.substr(0, endpoint.rfind('/')));
  if (!options.store_file.starts_with('/')) return Error(Code::invalid, "--store-file: not an absolute path");
  options.hook_keep_file =
      fmt::format("{}/hook-files.json", options.store_file.substr(0, options.store_file.rfind('/')));
  if (options.hook_keep_file == options.store_file)
    return Error(Code::invalid, "--store-file: hook-files.json is the name of another file of the proxy's");
  options.endpoint = std::move(endpoint);
  options.backend = std::move(backend);
  return options;
}

}  // namespace koord::proxy
