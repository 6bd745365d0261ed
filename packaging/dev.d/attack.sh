# Attacks on koord's own programs: bounded in count and time, on loopback, against what this starts itself.

verb_attack() {
  verb_deps
  verb_build
  KOORD=$PWD/build/koord tests/attack/attack.py "$@"
}
