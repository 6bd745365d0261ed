// TemplateWatch: see template_watch.hpp.
#include "scheduling/plugins/device_share/templates/template_watch.hpp"

#include <fmt/format.h>

#include "koord/api/types/core_v1/config_map.hpp"

namespace koord::scheduling::device_share {

TemplateWatch::TemplateWatch(ObjectStore<api::ConfigMap>& maps, Complaints& complaints, std::string ns,
                             std::string name)
    : complaints_(complaints),
      ns_(std::move(ns)),
      name_(std::move(name)),
      now_(std::make_shared<const api::GpuShareTemplates>()) {
  maps.on_change([this](const api::ConfigMap* before, const api::ConfigMap* now) {
    const api::ObjectMeta& meta = (now != nullptr ? now : before)->metadata;
    if (meta.namespace_ == ns_ && meta.name == name_) read(now);
  });
}

void TemplateWatch::read(const api::ConfigMap* map) {
  auto fresh = std::make_shared<api::GpuShareTemplates>();
  if (map != nullptr) {
    const std::string* const text = map->data.find(api::GpuShareTemplates::kDataKey);
    auto parsed = api::parse_gpu_share_templates(text != nullptr ? *text : std::string());
    if (!parsed)
      return complaints_.say("ConfigMap", map->metadata,
                             fmt::format("{}: {}: the templates that it had before count on",
                                         api::GpuShareTemplates::kDataKey, parsed.error().message()));
    *fresh = *std::move(parsed);
  }
  if (*fresh == *now_) return;
  now_ = std::move(fresh);
  ++version_;
}

}  // namespace koord::scheduling::device_share
