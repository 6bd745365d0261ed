// The file by which a proxy learns of the hook server: see registration.hpp.
#include "transports/hook_server/registration.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "koord/base/file.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "koord/net/unix_listener.hpp"

namespace koord::koordlet::hook_server {

namespace {

constexpr std::size_t kLongest = std::size_t{64} << 10;
/// A proxy runs as root; it refuses what others may write.
constexpr unsigned kMode = 0644;

}  // namespace

std::string Registration::text() const {
  std::string text =
      fmt::format("{{\n\t\"remote-endpoint\": {},\n\t\"failure-policy\": {},\n\t\"runtime-hooks\": [",
                  json::quote(endpoint), json::quote(failure_policy));
  std::string_view before = "\n\t\t";
  for (const std::string_view stage : stages) {
    text.append(before).append(json::quote(stage));
    before = ",\n\t\t";
  }
  text.append(stages.empty() ? "]\n}" : "\n\t]\n}");
  return text;
}

RegistrationFile::RegistrationFile(std::string_view folder)
    : folder_(folder), path_(fmt::format("{}{}koordlet.json", folder, folder.ends_with('/') ? "" : "/")) {}

Result<RegistrationFile::State> RegistrationFile::keep(const Registration& registration) {
  const std::string text = registration.text();
  const auto found = read_file(path_, kLongest);
  if (found && *found == text) {
    text_ = text;
    return State::unchanged;
  }
  struct stat folder {};
  if (::stat(folder_.c_str(), &folder) != 0 && errno == ENOENT) return State::no_folder;
  KOORD_CHECK(replace_file(path_, text, {.mode = kMode, .sync = false}));
  text_ = text;
  return State::written;
}

Result<bool> RegistrationFile::remove() {
  if (text_.empty()) return false;
  const auto found = read_file(path_, kLongest);
  if (!found || *found != text_) return false;
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) return errno_error(errno, path_);
  return true;
}

Result<bool> RegistrationFile::withdraw(const std::string& endpoint, const std::string& socket) const {
  const auto found = read_file(path_, kLongest);
  if (!found) {
    if (found.error().code() == Code::not_found) return false;
    return found.error();
  }
  const auto document = json::parse(*found);
  const json::Value* const named =
      document && document->is_object() ? json::find(*document, "remote-endpoint") : nullptr;
  if (named == nullptr || named->text() != endpoint) return false;
  if (net::answers(socket)) return false;
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) return errno_error(errno, path_);
  return true;
}

}  // namespace koord::koordlet::hook_server
