# The demonstrations: co-location as a loop, on simulated clusters with and without it; with --reserve a pod that moves to room
# that was kept for it; with --share two teams that share by quotas, and a gang that starts whole; with --move a hot node
# that is relieved and one that is emptied.

verb_demo() {
  verb_build
  case ${1:-} in
    --reserve | --share | --move)
      local which=${1#--}
      shift
      exec python3 "packaging/demo/$which.py" "$@"
      ;;
  esac
  exec python3 packaging/demo/demo.py "$@"
}
