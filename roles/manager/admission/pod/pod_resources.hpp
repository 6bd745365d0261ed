// What a pod's containers ask for, rewritten when it is admitted: batch and mid resources in place of cpu and
// memory, the annotation that tells the agent of them, and the resources of devices.
#pragma once

#include "koord/api/koordinator/classes.hpp"
#include "koord/base/result.hpp"
#include "koord/json/value.hpp"

namespace koord::manager {

// All take a pod that check_pod finds right.

/// The class by whose resources a pod is counted: as it says, or by its quality of service.
api::KoordPriority priority_with_default(const json::Value& pod);

/// Whether it is of a class whose cpu and memory are lent: batch or mid.
bool is_lent_to(const json::Value& pod);

/// Of batch and mid pods cpu and memory become the class's resources (cpu in milli-cores), in containers,
/// init containers and the overhead; a limit without a request gets the request. Other classes are left as
/// they are.
void translate_resources(json::Value& pod, json::Arena& arena);

/// Whether translate_resources() would change it.
bool is_untranslated(const json::Value& pod);

/// The annotation node.koordinator.sh/extended-resource-spec: the batch resources of containers and sidecars
/// (init containers that are restarted always), by their names. It is left alone where it says so already, or
/// where there is nothing to say and it is not there. An error where what it said before cannot be read.
Result<> set_extended_resource_spec(json::Value& pod, json::Arena& arena);

/// koordinator.sh/gpu becomes gpu-core and gpu-memory-ratio of the same number; who asks for either, and for
/// no gpu.shared, gets the number of GPUs that it takes.
void set_device_resources(json::Value& pod, json::Arena& arena);

}  // namespace koord::manager
