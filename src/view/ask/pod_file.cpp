// From a manifest to a pod: see pod_file.hpp.
#include "koord/view/ask/pod_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1/priority_class.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "koord/json/yaml.hpp"

namespace koord::view {

namespace {

/// What the API server fills in that decides where a pod may go.
void fill_in(api::Pod& pod) {
  if (pod.spec.scheduler_name.empty()) pod.spec.scheduler_name = "default-scheduler";
  for (auto* containers : {&pod.spec.containers, &pod.spec.init_containers})
    for (api::Container& c : *containers)
      for (const auto& [resource, limit] : c.resources.limits)
        if (!c.resources.requests.contains(resource.view())) c.resources.requests[resource.view()] = limit;
}

Task<Result<>> find_priority(kube::Client& client, api::Pod& pod) {
  if (pod.spec.priority) co_return Result<>();
  KOORD_CO_TRY(classes, co_await client.list_pages<api::PriorityClass>({}));
  for (const auto& each : classes.items) {
    const bool mine = pod.spec.priority_class_name.empty()
                          ? each->global_default
                          : pod.spec.priority_class_name == each->metadata.name;
    if (!mine) continue;
    pod.spec.priority = each->value;
    if (pod.spec.preemption_policy.empty()) pod.spec.preemption_policy = each->preemption_policy;
  }
  co_return Result<>();
}

}  // namespace

Result<std::string> pod_of_manifest(std::string_view text, const std::string& path, const std::string& ns) {
  const auto named = [&](const Error& error) {
    return Error(error.code(), fmt::format("{}: {}", path, error.message()));
  };
  auto json = json::yaml_to_json(text);
  if (!json) return named(json.error());
  auto document = json::parse(*json);
  if (!document) return named(document.error());
  const std::string_view kind = json::text_at(*document, "kind");
  json::Value* pod = &*document;
  std::string_view space = json::text_at(*document, "metadata", "namespace");
  if (kind != "Pod") {
    json::Value* of_template = json::find(*document, "spec", "template");
    if (of_template == nullptr)
      of_template = json::find(*document, "spec", "jobTemplate", "spec", "template");
    if (of_template == nullptr || json::find(*of_template, "spec") == nullptr)
      return Error(Code::invalid, fmt::format("{}: {} is neither a Pod nor has it a template of pods", path,
                                              kind.empty() ? "what has no kind" : fmt::format("a {}", kind)));
    json::set_text(json::object_at(*of_template, "metadata", document->arena()), "name",
                   json::text_at(*document, "metadata", "name"), document->arena());
    pod = of_template;
  }
  json::Arena& arena = document->arena();
  json::Value& meta = json::object_at(*pod, "metadata", arena);
  const std::string name(json::text_at(meta, "name"));
  json::set_text(meta, "namespace", space.empty() ? std::string_view(ns) : space, arena);
  if (name.empty()) json::set_text(meta, "name", "new", arena);
  for (const char* key : {"uid", "resourceVersion", "creationTimestamp", "ownerReferences", "generateName"})
    json::remove(meta, key);
  json::remove(*pod, "status");
  if (json::Value* spec = json::find(*pod, "spec")) json::remove(*spec, "nodeName");
  json::set_text(*pod, "apiVersion", "v1", arena);
  json::set_text(*pod, "kind", "Pod", arena);
  return json::to_text(*pod);
}

Task<Result<MadePod>> admit(kube::Client& client, std::string json) {
  MadePod made;
  KOORD_CO_TRY(plain, api::decode<api::Pod>(json));
  KOORD_CO_TRY(document, json::parse(json));
  // Under another name: there may be one of this name.
  json::Value& meta = json::object_at(document, "metadata", document.arena());
  json::remove(meta, "name");
  json::set_text(meta, "generateName", fmt::format("{}-", plain.metadata.name.substr(0, 200)),
                 document.arena());
  net::Request request;
  request.method = "POST";
  request.target = fmt::format("/api/v1/namespaces/{}/pods?dryRun=All", plain.metadata.namespace_.view());
  request.headers.add("Content-Type", "application/json");
  request.body = json::to_text(document);
  const Result<net::Response> answer = co_await client.request(std::move(request));
  if (answer) {
    KOORD_CO_TRY(pod, api::decode<api::Pod>(answer->body));
    pod.metadata.name = plain.metadata.name;
    made.pod = std::make_shared<api::Pod>(std::move(pod));
    co_return made;
  }
  KOORD_CO_TRY(written, co_await as_written(client, std::move(json)));
  written.note = fmt::format(
      "the API server would not say how it would admit this pod ({}); it is taken as it is written",
      answer.error().message());
  co_return std::move(written);
}

Result<std::shared_ptr<api::Pod>> pod_as_written(const std::string& json) {
  KOORD_TRY(pod, api::decode<api::Pod>(json));
  fill_in(pod);
  pod.metadata.uid = "new";
  return std::make_shared<api::Pod>(std::move(pod));
}

Task<Result<MadePod>> as_written(kube::Client& client, std::string json) {
  MadePod made;
  KOORD_CO_TRY(pod, pod_as_written(json));
  const Result<> priority = co_await find_priority(client, *pod);
  (void)priority;  // then it is what the file says
  made.pod = std::move(pod);
  co_return made;
}

}  // namespace koord::view
