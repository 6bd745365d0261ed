// What nearly every file of the engine, and of the roles that hold one, includes: parsed once a build
// (meson.build), with what all of koord includes. Files include what they use all the same.
#pragma once

#include "../precompiled.hpp"
#include "koord/api/rules/selector.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/plugin/args.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
