// From a workload to the programs that it runs: see programs.hpp.
#include "migrate/programs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace koord::app::migrate {

namespace {

constexpr std::string_view kShells[] = {"sh", "bash", "ash", "dash", "busybox", "env", "tini", "dumb-init"};

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// "registry:5000/koordinator-sh/koordlet:v1.8.0@sha256:..." is koordlet.
std::string_view image_name(std::string_view image) {
  image = last_part(image.substr(0, image.find('@')));
  return image.substr(0, image.find(':'));
}

std::string expand(std::string_view text, const std::map<std::string, std::string>& environment) {
  std::string out;
  bool closes =
      true;  // none follows once one was missing: a long text of "$(" is not searched again and again
  while (!text.empty()) {
    const auto close = closes && text.starts_with("$(") ? text.find(')') : std::string_view::npos;
    if (text.starts_with("$(")) closes = close != std::string_view::npos;
    if (text.starts_with("$$")) {
      out += '$';
      text.remove_prefix(2);
    } else if (close != std::string_view::npos) {
      const auto known = environment.find(std::string(text.substr(2, close - 2)));
      out += known != environment.end() ? std::string_view(known->second) : text.substr(0, close + 1);
      text.remove_prefix(close + 1);
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

std::span<const json::Value> elements_at(const json::Value& object, std::string_view key) {
  const json::Value* found = json::find(object, key);
  return found ? found->elements() : std::span<const json::Value>();
}

/// The files of ConfigMaps that the container sees.
void add_files(Program& program, const json::Value& pod, const json::Value& container) {
  for (const json::Value& mount : elements_at(container, "volumeMounts")) {
    std::string folder(json::text_at(mount, "mountPath"));
    while (folder.ends_with('/')) folder.pop_back();
    const std::string_view sub = json::text_at(mount, "subPath");
    for (const json::Value& volume : elements_at(pod, "volumes")) {
      const json::Value* map = json::find(volume, "configMap");
      if (map == nullptr || json::text_at(volume, "name") != json::text_at(mount, "name")) continue;
      const Program::File file{fmt::format("{}/{}", program.ns, json::text_at(*map, "name")), ""};
      const auto items = elements_at(*map, "items");
      // Without items each key is a file of its name: the empty one stands for all.
      if (items.empty()) program.files[folder] = {file.config_map, std::string(sub)};
      for (const json::Value& item : items) {
        const std::string_view path = json::text_at(item, "path");
        if (!sub.empty() && sub != path) continue;
        program.files[sub.empty() ? fmt::format("{}/{}", folder, path) : folder] = {
            file.config_map, std::string(json::text_at(item, "key"))};
      }
    }
  }
}

/// Of who is none of them: an empty name.
std::string_view program_of(std::string_view command, std::string_view image) {
  const std::string_view called = last_part(command);
  const auto is_ours = [](std::string_view name) {
    return name == "koord" || name.starts_with("koord-") || name == "koordlet";
  };
  if (is_ours(called)) return called;
  // A shell, or nothing: then the image tells.
  const bool shell = std::ranges::find(kShells, called) != std::end(kShells);
  return (command.empty() || shell) && is_ours(image_name(image)) ? image_name(image) : std::string_view();
}

}  // namespace

std::vector<Program> programs_of(const json::Value& workload, std::string_view kind, RoleOf role_of) {
  std::vector<Program> found;
  const json::Value* pod = json::find(workload, "spec", "template", "spec");
  if (pod == nullptr) return found;
  for (const json::Value& container : elements_at(*pod, "containers")) {
    Program program;
    program.image = json::text_at(container, "image");
    program.ns = json::text_at(workload, "metadata", "namespace");
    for (const json::Value& one : elements_at(container, "env"))
      if (json::find(one, "valueFrom") == nullptr)
        program.environment[std::string(json::text_at(one, "name"))] =
            expand(json::text_at(one, "value"), program.environment);
    std::vector<std::string> line;
    for (const char* part : {"command", "args"})
      for (const json::Value& word : elements_at(container, part))
        line.push_back(expand(word.text(), program.environment));
    const auto command = elements_at(container, "command");
    const std::string first = command.empty() ? "" : line.front();
    program.program = program_of(first, program.image);
    if (program.program.empty()) continue;
    const bool called = !first.empty() && last_part(first) == program.program;
    if (!first.empty()) line.erase(line.begin());
    if (!first.empty() && !called) program.unreadable = fmt::format("it is started by {}", first);
    program.workload = fmt::format("{} {}/{}", kind, program.ns, json::text_at(workload, "metadata", "name"));
    program.is_koord = program.program == "koord" || image_name(program.image) == "koord";
    program.role = role_of(program.program, line);
    program.arguments = std::move(line);
    add_files(program, *pod, container);
    found.push_back(std::move(program));
  }
  return found;
}

}  // namespace koord::app::migrate
