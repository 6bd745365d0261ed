// The table of collectors.
#include "collectors.hpp"

namespace koord::koordlet {

extern const CollectorEntry kPressure;

CollectorTable collector_table() {
  static constexpr const CollectorEntry* kTable[] = {&kPressure};
  return kTable;
}

}  // namespace koord::koordlet
