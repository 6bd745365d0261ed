# The kernel of the node tier's virtual machine: Debian's package, downloaded and unpacked, never installed.

vm_kernel_path() { echo "${KOORD_VM_KERNEL:-$KOORD_CACHE/vm/vmlinuz}"; }

# The package that the newest cloud kernel's metapackage depends on.
vm_kernel_package() {
  apt-cache depends linux-image-cloud-amd64 2>/dev/null | sed -nE 's/^ *Depends: (linux-image-[^ ]*-cloud-amd64)$/\1/p' | head -1
}

verb_vm_kernel() {
  local kernel package work status=0
  kernel=$(vm_kernel_path)
  if [[ -f $kernel ]]; then say "vm-kernel: it is there, $kernel"; return; fi
  command -v apt-get >/dev/null || { say "vm-kernel: needs apt-get, or KOORD_VM_KERNEL"; return 1; }
  package=$(vm_kernel_package)
  if [[ -z $package ]]; then
    apt-get update -q >&2
    package=$(vm_kernel_package)
  fi
  [[ -n $package ]] || { say "vm-kernel: no package linux-image-cloud-amd64"; return 1; }
  say "vm-kernel: downloading $package"
  work=$(mktemp -d)
  # apt's own user has to write here.
  chmod 755 "$work"
  (
    set -e
    cd "$work"
    apt-get download -q "$package" || { apt-get update -q && apt-get download -q "$package"; }
    dpkg -x ./*.deb root
    mkdir -p "$(dirname "$kernel")"
    cp root/boot/vmlinuz-* "$kernel.new"
    mv "$kernel.new" "$kernel"
  ) >&2 || status=1
  rm -rf "$work"
  ((status == 0)) || { say "vm-kernel: failed"; return 1; }
  say "vm-kernel: $kernel"
}
