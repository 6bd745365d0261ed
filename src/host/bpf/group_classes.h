// What the filter of packets by group shares with who loads it.
#pragma once

enum {
  koord_class_major = 0x6b6f, /* of koord's qdisc: nobody else's, so that what is ours is known by it */
  koord_most_group_classes = 8192,
  koord_deepest_class = 12, /* levels below the root of cgroup v2 that are looked at */
};
