// CoschedulingArgs: their rows, and what is wrong with them in Koordinator's words.
#include "scheduling/plugins/coscheduling/args.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::scheduling {

namespace coscheduling {

void CoschedulingArgs::validate(const std::string&, FieldErrors& errors) const {
  // Koordinator names the first alone.
  if (default_timeout->value.count() < 0)
    errors.add("coeSchedulingArgs DefaultTimeoutSeconds invalid");
  else if (*controller_workers < 1)
    errors.add("coeSchedulingArgs ControllerWorkers invalid");
}

KOORD_OBJECT(CoschedulingArgs, args_kind("CoschedulingArgs"),
             ROW(default_timeout)
                 .default_json(R"("10m0s")")
                 .doc("How long pods of a gang wait for the others where the gang does not say."),
             ROW(controller_workers).default_json("1"),
             ROW(skip_check_schedule_cycle).doc("Deprecated, without effect."),
             ROW(enable_preemption).default_json("false").doc("Gangs may preempt, and single pods with it."),
             ROW(aware_network_topology).default_json("false").doc("Gangs are placed by network topology."),
             ROW(default_match_policy)
                 .default_json(R"("once-satisfied")")
                 .doc("When a gang that says nothing has enough pods: once-satisfied, only-waiting, "
                      "waiting-and-running."));

}  // namespace coscheduling

}  // namespace koord::scheduling
