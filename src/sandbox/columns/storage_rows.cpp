// Cells and columns of the kinds of storage as kube-apiserver prints them.
#include <algorithm>
#include <array>

#include "koord/api/values/quantity.hpp"
#include "sandbox/columns/cells.hpp"
#include "sandbox/columns/rows.hpp"

namespace koord::sandbox {
namespace {

// In this order, whatever the object's.
std::string modes_of(const json::Value* modes) {
  constexpr std::array kModes = {std::pair("ReadWriteOnce", "RWO"), std::pair("ReadOnlyMany", "ROX"),
                                 std::pair("ReadWriteMany", "RWX"), std::pair("ReadWriteOncePod", "RWOP")};
  std::string out;
  if (!modes) return out;
  for (const auto& [mode, abbreviation] : kModes)
    if (std::ranges::any_of(modes->elements(), [&](const json::Value& each) { return each.text() == mode; }))
      join(out, abbreviation);
  return out;
}

std::string amount(const json::Value* value) {
  if (!value) return "0";
  const std::string shown = value->is_string() ? std::string(value->text()) : json::to_text(*value);
  const auto quantity = api::Quantity::parse(shown);
  return quantity ? quantity->to_string() : shown;
}

std::string_view or_unset(std::string_view value) { return value.empty() ? "<unset>" : value; }

std::string_view phase_of(const json::Value& object) {
  return text_at(object, "metadata", "deletionTimestamp").empty() ? text_at(object, "status", "phase")
                                                                  : "Terminating";
}

std::string_view class_of(const json::Value& object) {
  const std::string_view old =
      text_at(object, "metadata", "annotations", "volume.beta.kubernetes.io/storage-class");
  return old.empty() ? text_at(object, "spec", "storageClassName") : old;
}

void volume_cells(const json::Value& object, WallTime now, Cells& cells) {
  text(cells, name_of(object));
  text(cells, amount(find(object, "spec", "capacity", "storage")));
  text(cells, modes_of(find(object, "spec", "accessModes")));
  text(cells, text_at(object, "spec", "persistentVolumeReclaimPolicy"));
  text(cells, phase_of(object));
  const json::Value* claim = find(object, "spec", "claimRef");
  text(cells, claim ? fmt::format("{}/{}", text_at(*claim, "namespace"), text_at(*claim, "name")) : "");
  text(cells, class_of(object));
  text(cells, or_unset(text_at(object, "spec", "volumeAttributesClassName")));
  text(cells, text_at(object, "status", "reason"));
  age(cells, object, now);
  text(cells, or_unset(text_at(object, "spec", "volumeMode")));
}

void claim_cells(const json::Value& object, WallTime now, Cells& cells) {
  const std::string_view volume = text_at(object, "spec", "volumeName");
  text(cells, name_of(object));
  text(cells, phase_of(object));
  text(cells, volume);
  text(cells, volume.empty() ? "" : amount(find(object, "status", "capacity", "storage")));
  text(cells, volume.empty() ? "" : modes_of(find(object, "status", "accessModes")));
  text(cells, class_of(object));
  text(cells, or_unset(text_at(object, "spec", "volumeAttributesClassName")));
  age(cells, object, now);
  text(cells, or_unset(text_at(object, "spec", "volumeMode")));
}

void storage_class_cells(const json::Value& object, WallTime now, Cells& cells) {
  const json::Value* notes = find(object, "metadata", "annotations");
  const bool is_default = notes && std::ranges::any_of(notes->members(), [](const json::Member& note) {
                            return (note.key() == "storageclass.kubernetes.io/is-default-class" ||
                                    note.key() == "storageclass.beta.kubernetes.io/is-default-class") &&
                                   note.value.text() == "true";
                          });
  text(cells, fmt::format("{}{}", name_of(object), is_default ? " (default)" : ""));
  text(cells, text_at(object, "provisioner"));
  text(cells, text_at(object, "reclaimPolicy"));
  text(cells, text_at(object, "volumeBindingMode"));
  yes_no(cells, true_at(object, "allowVolumeExpansion"));
  age(cells, object, now);
}

void csi_node_cells(const json::Value& object, WallTime now, Cells& cells) {
  const json::Value* drivers = find(object, "spec", "drivers");
  text(cells, name_of(object));
  number(cells, drivers ? std::ssize(drivers->elements()) : 0);
  age(cells, object, now);
}

void csi_driver_cells(const json::Value& object, WallTime now, Cells& cells) {
  text(cells, name_of(object));
  for (const char* field : {"attachRequired", "podInfoOnMount", "storageCapacity"})
    yes_no(cells, true_at(object, "spec", field));
  const json::Value* requests = find(object, "spec", "tokenRequests");
  std::string audiences = requests ? "" : "<unset>";
  if (requests)
    for (const json::Value& each : requests->elements()) join(audiences, text_at(each, "audience"));
  text(cells, audiences);
  yes_no(cells, true_at(object, "spec", "requiresRepublish"));
  std::string modes;
  if (const json::Value* list = find(object, "spec", "volumeLifecycleModes"))
    for (const json::Value& each : list->elements()) join(modes, each.text());
  text(cells, or_none(modes));
  age(cells, object, now);
}

void csi_capacity_cells(const json::Value& object, WallTime, Cells& cells) {
  text(cells, name_of(object));
  text(cells, text_at(object, "storageClassName"));
  const json::Value* capacity = find(object, "capacity");
  text(cells, capacity ? amount(capacity) : "<unset>");
}

void attachment_cells(const json::Value& object, WallTime now, Cells& cells) {
  text(cells, name_of(object));
  text(cells, text_at(object, "spec", "attacher"));
  text(cells, text_at(object, "spec", "source", "persistentVolumeName"));
  text(cells, text_at(object, "spec", "nodeName"));
  yes_no(cells, true_at(object, "status", "attached"));
  age(cells, object, now);
}

constexpr Head kVolumes[] = {{"Name"},   {"Capacity"}, {"Access Modes"},  {"Reclaim Policy"},
                             {"Status"}, {"Claim"},    {"StorageClass"},  {"VolumeAttributesClass"},
                             {"Reason"}, {"Age"},      wide("VolumeMode")};
constexpr Head kClaims[] = {{"Name"},
                            {"Status"},
                            {"Volume"},
                            {"Capacity"},
                            {"Access Modes"},
                            {"StorageClass"},
                            {"VolumeAttributesClass"},
                            {"Age"},
                            wide("VolumeMode")};
constexpr Head kStorageClasses[] = {
    {"Name"}, {"Provisioner"}, {"ReclaimPolicy"}, {"VolumeBindingMode"}, {"AllowVolumeExpansion"}, {"Age"}};
constexpr Head kCsiNodes[] = {{"Name"}, {"Drivers", "integer"}, {"Age"}};
constexpr Head kCsiDrivers[] = {{"Name"},
                                {"AttachRequired", "boolean"},
                                {"PodInfoOnMount", "boolean"},
                                {"StorageCapacity", "boolean"},
                                {"TokenRequests"},
                                {"RequiresRepublish", "boolean"},
                                {"Modes"},
                                {"Age"}};
constexpr Head kCsiCapacities[] = {{"Name"}, {"StorageClassName"}, {"Capacity"}};
constexpr Head kAttachments[] = {{"Name"}, {"Attacher"}, {"PV"}, {"Node"}, {"Attached", "boolean"}, {"Age"}};

constexpr KindColumns kRows[] = {
    {"", "persistentvolumes", volume_cells, kVolumes},
    {"", "persistentvolumeclaims", claim_cells, kClaims},
    {"storage.k8s.io", "storageclasses", storage_class_cells, kStorageClasses},
    {"storage.k8s.io", "csinodes", csi_node_cells, kCsiNodes},
    {"storage.k8s.io", "csidrivers", csi_driver_cells, kCsiDrivers},
    {"storage.k8s.io", "csistoragecapacities", csi_capacity_cells, kCsiCapacities},
    {"storage.k8s.io", "volumeattachments", attachment_cells, kAttachments},
};

}  // namespace

std::span<const KindColumns> storage_columns() { return kRows; }

}  // namespace koord::sandbox
