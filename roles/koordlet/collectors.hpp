// The koordlet's collectors: one table.
#pragma once

#include "framework/sampler/collector.hpp"

namespace koord::koordlet {

CollectorTable collector_table();

}  // namespace koord::koordlet
