// What nearly every unit test includes, parsed once a build (meson.build), with what all of koord includes.
// Files include what they use all the same.
#pragma once

#include <catch2/catch.hpp>

#include "../../src/precompiled.hpp"
#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"
