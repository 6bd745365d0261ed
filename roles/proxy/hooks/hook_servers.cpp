// Hook servers in effect: see hook_servers.hpp.
#include "hooks/hook_servers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace koord::proxy {

namespace {

std::string shown(const HookServer& server) {
  std::string stages;
  for (std::size_t i = 0; i < server.stages.size(); ++i)
    if (server.stages.test(i))
      fmt::format_to(std::back_inserter(stages), "{}{}", stages.empty() ? "" : ", ",
                     rpc::hooks::to_string(static_cast<rpc::hooks::Stage>(i)));
  return fmt::format("{}: {} is asked for {}, policy {}", server.file, server.endpoint,
                     stages.empty() ? "nothing" : stages, server.fail ? "Fail" : "Ignore");
}

}  // namespace

void HookServers::read(File& file, const FoundFile& found, News& news) {
  if (!found.text) {
    file.text.reset();
    if (file.problem != found.text.error().message()) {
      file.problem = found.text.error().message();
      news.problems.push_back(
          fmt::format("{}{}", file.problem, file.server ? "; what it said last stays" : ""));
    }
    return;
  }
  if (file.text == *found.text && (file.server || !file.problem.empty())) {
    // As it was, or as wrong as it was, unless it could not be read meanwhile.
    return;
  }
  std::vector<std::string> notes;
  auto server = parse_hook_file(found.name, *found.text, notes);
  file.text = *found.text;
  if (!server) {
    file.problem = server.error().message();
    news.problems.push_back(
        fmt::format("{}{}", file.problem, file.server ? "; what it said last stays" : ""));
    return;
  }
  file.problem.clear();
  file.good = *found.text;
  for (std::string& note : notes) news.problems.push_back(std::move(note));
  if (!std::exchange(file.is_kept, false) && file.server == *server) return;
  news.told.push_back(shown(*server));
  file.server = std::move(*server);
  news.changed = true;
}

/// What an earlier process knew of a file that is there is in effect until something better is read.
HookServers::File& HookServers::file_named(const std::string& name, News& news) {
  const auto [at, is_new] = files_.try_emplace(name);
  if (const auto kept = kept_.find(name); is_new && kept != kept_.end()) {
    std::vector<std::string> notes;
    if (auto server = parse_hook_file(name, kept->second, notes)) {
      at->second.server = std::move(*server);
      at->second.good = kept->second;
      at->second.is_kept = true;
      news.changed = true;
    }
  }
  return at->second;
}

void HookServers::take_effect() {
  servers_.clear();
  for (const auto& [name, file] : files_)
    if (file.server) servers_.push_back(*file.server);
}

HookServers::News HookServers::update(const FoundFiles& found) {
  News news;
  if (!found) {
    for (const auto& [name, text] : kept_) file_named(name, news);
    if (news.changed) take_effect();
    if (folder_problem_ != found.error().message()) {
      folder_problem_ = found.error().message();
      news.problems.push_back(
          fmt::format("{}{}", folder_problem_, servers_.empty() ? "" : "; what its files said last stays"));
    }
    return news;
  }
  folder_problem_.clear();
  std::set<std::string_view> names;
  for (const FoundFile& file : *found) {
    names.insert(file.name);
    read(file_named(file.name, news), file, news);
  }
  kept_.clear();
  for (auto at = files_.begin(); at != files_.end();) {
    if (names.contains(at->first)) {
      ++at;
      continue;
    }
    if (at->second.server) {
      news.told.push_back(
          fmt::format("{}: gone: {} is asked no more", at->first, at->second.server->endpoint));
      news.changed = true;
    }
    at = files_.erase(at);
  }
  if (news.changed) take_effect();
  return news;
}

HookTexts HookServers::good() const {
  HookTexts texts;
  for (const auto& [name, file] : files_)
    if (file.server) texts.emplace(name, file.good);
  return texts;
}

std::size_t HookServers::bad() const {
  return static_cast<std::size_t>(
             std::ranges::count_if(files_, [](const auto& file) { return !file.second.problem.empty(); })) +
         (folder_problem_.empty() ? 0 : 1);
}

}  // namespace koord::proxy
