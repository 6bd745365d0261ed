// Registration: the file by which a CRI proxy learns of the hook server.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"

namespace koord::koordlet::hook_server {

struct Registration {
  std::string endpoint;                  // the socket, as the proxy sees it
  std::string failure_policy;            // "Fail" or "Ignore": what a proxy does while nobody answers
  std::vector<std::string_view> stages;  // at which the proxy is to ask
  /// As the original writes it.
  std::string text() const;
};

/// Keeps one file as it shall be. Used by one thread; blocks for as long as a small file takes.
class RegistrationFile {
 public:
  enum class State : std::uint8_t {
    written,    // now
    unchanged,  // it was as it shall be
    no_folder,  // nobody has made the folder: no proxy has run here
  };
  /// `folder`/koordlet.json. Proxies find a file or none, never a part of one.
  explicit RegistrationFile(std::string_view folder);
  Result<State> keep(const Registration& registration);
  /// Takes it away, if it is still what was written. False: it is not.
  Result<bool> remove();
  /// Takes away what agents left that ended with Fail, or were killed, so that no proxy refuses pods for
  /// their sake for ever. What names another socket than `endpoint`, or one where somebody answers (at
  /// `socket`, as this process sees it), is another's and stays: false.
  Result<bool> withdraw(const std::string& endpoint, const std::string& socket) const;
  const std::string& path() const { return path_; }

 private:
  std::string folder_, path_;
  std::string text_;  // what was written, or found; empty: nothing yet
};

}  // namespace koord::koordlet::hook_server
