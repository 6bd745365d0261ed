// What `koord explain` says of a pod and its gang.
#pragma once

#include "koord/scheduling/plugin/explain_plugin.hpp"
#include "scheduling/gangs/book.hpp"

namespace koord::scheduling::gangs {

/// Which gangs of its group lack pods, and how many; else that it is placed with them, or by itself.
AdmitExplainPlugin::Admission explain(GangBook& book, const Member& member);

}  // namespace koord::scheduling::gangs
