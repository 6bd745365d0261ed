// Page: the cluster in a browser, from a port of its own; read only.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "koord/async/task.hpp"
#include "koord/base/log.hpp"
#include "koord/runtime/flags.hpp"

namespace koord {
class TaskGroup;
namespace kube {
class Client;
class InformerSet;
}  // namespace kube
}  // namespace koord

namespace koord::view {

inline constexpr std::string_view kPageSection = "Page flags";
/// Of who serves the page.
inline constexpr std::array kPageFlags = {
    runtime::Flag{"ui", runtime::FlagType::text, "false",
                  "Serve the page: the cluster, its nodes, quotas and gangs, who waits and why, in a "
                  "browser; read only. "
                  "--ui alone: on 127.0.0.1:8089; or a port of 127.0.0.1, or ADDRESS:PORT. On an address "
                  "that others reach "
                  "it is HTTPS, for who shows a token (as the password) that may get the nonResourceURL /ui.",
                  0, kPageSection},
    runtime::Flag{"ui-tls-cert-file", runtime::FlagType::text, "",
                  "The certificate (with its chain) of --ui for HTTPS; read again when it changes. Empty: a "
                  "self-signed one.",
                  0, kPageSection},
    runtime::Flag{"ui-tls-private-key-file", runtime::FlagType::text, "", "The key of --ui-tls-cert-file.", 0,
                  kPageSection},
    runtime::Flag{
        "ui-hosts", runtime::FlagType::list, "",
        "Names, without ports, that browsers may call the page by, beside localhost and numeric addresses.",
        0, kPageSection},
};

struct PageParts {
  asio::any_io_executor executor;
  Clock& clock;
  Logger log;
  kube::Client& client;
  kube::InformerSet& informers;
};

/// The event loop's thread. Reads through informers that it shares with the process, and lists the rest of
/// the cluster for a question; writes nothing. Parts outlive it.
class Page {
 public:
  /// Null where --ui is off. Declares informers, opens nothing. Errors name the flag.
  static Result<std::unique_ptr<Page>> make(const runtime::FlagValues& flags, PageParts parts);
  ~Page();
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  /// Opens the port; what goes on lives in `tasks`, which is stopped before stop() is awaited. Errors name
  /// the flag.
  Result<> open(TaskGroup& tasks);
  Task<> stop();
  /// Once it is open: "http://127.0.0.1:8089/ui/".
  const std::string& url() const;

 private:
  class Impl;
  explicit Page(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::view
