/* What asks NVIDIA's management library (NVML): a dynamically linked program of its own, for the static binary has no
 * loader, and a driver that hangs or crashes must cost nobody else. It runs in the host's root, from memory (see
 * koord/host/nvml.hpp), answers each line that it reads with lines, and ends with its input. Declarations are NVML's
 * stable ones, written down here; the driver's header is not needed. Nothing of the C library is newer than its first
 * version for the machine, so that it runs on old hosts, too. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#if defined(__x86_64__)
#define SINCE "GLIBC_2.2.5"
__asm__(".globl _start\n_start: xor %ebp, %ebp\n mov (%rsp), %rdi\n lea 8(%rsp), %rsi\n and $-16, %rsp\n call begin\n");
#elif defined(__aarch64__)
#define SINCE "GLIBC_2.17"
__asm__(".globl _start\n_start: mov x29, #0\n mov x30, #0\n ldr x0, [sp]\n add x1, sp, #8\n bl begin\n");
#endif
__asm__(".symver dlopen, dlopen@" SINCE);
__asm__(".symver dlsym, dlsym@" SINCE);
__asm__(".symver dlerror, dlerror@" SINCE);
__asm__(".symver __libc_start_main, __libc_start_main@" SINCE);

extern int __libc_start_main(int (*run)(int, char**, char**), int count, char** arguments, void (*first)(void),
                             void (*last)(void), void (*loader_last)(void), void* stack_end);

typedef void* Device;
typedef struct {
  unsigned long long total, free, used;
} Memory;
typedef struct {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char bus_id[32];
} Pci;
typedef struct {
  unsigned pid;
  unsigned long long memory;
  unsigned instance, compute_instance;
} Process;
typedef struct {
  unsigned pid;
  unsigned long long memory;
} OldProcess;
typedef struct {
  unsigned pid;
  unsigned long long at;
  unsigned cores, memory, encoder, decoder;
} Sample;
typedef struct {
  unsigned cores, memory;
} Rates;
typedef struct {
  Device device;
  unsigned long long type, data;
  unsigned instance, compute_instance;
} Event;

enum { kOk = 0, kNotSupported = 3, kNotFound = 6, kTooSmall = 7, kMostCards = 256, kMostProcesses = 1024, kMostOfAll = 8192 };
static const unsigned long long kXid = 8, kUnknown = ~0ULL;
/* The driver has no sample of a process that does nothing: what it did longer ago than this it does not do any more. */
static const unsigned long long kWindow = 3000000; /* microseconds */

static struct {
  int (*init)(void);
  int (*driver)(char*, unsigned);
  int (*count)(unsigned*);
  int (*handle)(unsigned, Device*);
  int (*uuid)(Device, char*, unsigned);
  int (*minor)(Device, unsigned*);
  int (*name)(Device, char*, unsigned);
  int (*memory)(Device, Memory*);
  int (*pci)(Device, Pci*);
  int (*mig)(Device, unsigned*, unsigned*);
  int (*processes)(Device, unsigned*, Process*);
  int (*old_processes)(Device, unsigned*, OldProcess*);
  int (*samples)(Device, Sample*, unsigned*, unsigned long long);
  int (*rates)(Device, Rates*);
  int (*new_events)(void**);
  int (*watch)(Device, unsigned long long, void*);
  int (*next_event)(void*, Event*, unsigned);
  const char* (*error)(int);
} nvml;

static const struct {
  void** where;
  const char* name;
  int needed;
} kFunctions[] = {
    {(void**)&nvml.init, "nvmlInit_v2", 1},
    {(void**)&nvml.driver, "nvmlSystemGetDriverVersion", 1},
    {(void**)&nvml.count, "nvmlDeviceGetCount_v2", 1},
    {(void**)&nvml.handle, "nvmlDeviceGetHandleByIndex_v2", 1},
    {(void**)&nvml.uuid, "nvmlDeviceGetUUID", 1},
    {(void**)&nvml.minor, "nvmlDeviceGetMinorNumber", 1},
    {(void**)&nvml.name, "nvmlDeviceGetName", 1},
    {(void**)&nvml.memory, "nvmlDeviceGetMemoryInfo", 1},
    {(void**)&nvml.pci, "nvmlDeviceGetPciInfo_v3", 1},
    {(void**)&nvml.mig, "nvmlDeviceGetMigMode", 0},
    {(void**)&nvml.processes, "nvmlDeviceGetComputeRunningProcesses_v3", 0},
    {(void**)&nvml.processes, "nvmlDeviceGetComputeRunningProcesses_v2", 0},
    {(void**)&nvml.old_processes, "nvmlDeviceGetComputeRunningProcesses", 0},
    {(void**)&nvml.samples, "nvmlDeviceGetProcessUtilization", 0},
    {(void**)&nvml.rates, "nvmlDeviceGetUtilizationRates", 0},
    {(void**)&nvml.new_events, "nvmlEventSetCreate", 0},
    {(void**)&nvml.watch, "nvmlDeviceRegisterEvents", 0},
    {(void**)&nvml.next_event, "nvmlEventSetWait_v2", 0},
    {(void**)&nvml.error, "nvmlErrorString", 1},
};

/* Where the driver's libraries are: the loader's own folders, and those of the driver's container. */
static const char* const kLibraries[] = {"libnvidia-ml.so.1",
                                         "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
                                         "/run/nvidia/driver/usr/lib64/libnvidia-ml.so.1",
                                         "/run/nvidia/driver/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
                                         "/usr/lib/nvidia/libnvidia-ml.so.1"};

static char out[1 << 18];
static size_t used;
static int reader_gone;

static int flush(void) {
  for (size_t done = 0; done < used;) {
    const ssize_t size = write(1, out + done, used - done);
    if (size <= 0) {
      reader_gone = 1;
      break;
    }
    done += (size_t)size;
  }
  used = 0;
  return !reader_gone;
}
static void say(const char* form, ...) {
  va_list arguments;
  va_start(arguments, form);
  const int size = vsnprintf(out + used, sizeof out - used, form, arguments);
  va_end(arguments);
  if (size > 0 && (size_t)size < sizeof out - used) used += (size_t)size;
  if (used > sizeof out / 2) (void)flush();
}
/* A tab and a line feed are what parts and lines end with. */
static const char* clean(char* text) {
  for (char* at = text; *at != 0; ++at)
    if (*at == '\t' || *at == '\n' || *at == '\r') *at = ' ';
  return text;
}

static void* events;
static char watched[kMostCards];
static struct {
  Device device;
  char bus_id[32];
} seen[kMostCards]; /* whose events are watched: a card that is lost does not say any more where it is */

static unsigned long long microseconds(struct timeval time) {
  return (unsigned long long)time.tv_sec * 1000000 + (unsigned long long)time.tv_usec;
}

static unsigned told; /* processes of this answer */

static void report_processes(unsigned index, Device device) {
  static Process processes[kMostProcesses];
  static OldProcess old[kMostProcesses];
  static Sample samples[kMostProcesses];
  unsigned count = kMostProcesses, sampled = kMostProcesses;
  if (nvml.processes == 0 && nvml.old_processes == 0) return;
  const int failed =
      nvml.processes != 0 ? nvml.processes(device, &count, processes) : nvml.old_processes(device, &count, old);
  /* Whose sum is not known: it must not be taken for nothing. */
  if (failed == kTooSmall || (failed == kOk && (count > kMostProcesses || told + count > kMostOfAll))) {
    say("crowded\t%u\n", index);
    return;
  }
  if (failed != kOk) return;
  if (nvml.processes == 0) {
    for (unsigned i = 0; i < count && i < kMostProcesses; ++i)
      processes[i] = (Process){old[i].pid, old[i].memory, 0, 0};
  }
  struct timeval now;
  gettimeofday(&now, 0);
  if (nvml.samples == 0 || nvml.samples(device, samples, &sampled, microseconds(now) - kWindow) != kOk) sampled = 0;
  for (unsigned i = 0; i < count && i < kMostProcesses && told < kMostOfAll; ++i, ++told) {
    unsigned cores = 0;
    unsigned long long newest = 0;
    for (unsigned j = 0; j < sampled && j < kMostProcesses; ++j)
      if (samples[j].pid == processes[i].pid && samples[j].at >= newest) {
        newest = samples[j].at;
        cores = samples[j].cores;
      }
    say("process\t%u\t%u\t%u\t%llu\n", index, processes[i].pid, cores,
        processes[i].memory == kUnknown ? 0 : processes[i].memory);
  }
}

/* A card that does not answer is a line, and the next one is asked. */
static void report_card(unsigned index) {
  Device device = 0;
  char uuid[96] = "", name[96] = "";
  unsigned minor = 0, mig = 0, pending = 0;
  Memory memory = {0, 0, 0};
  Pci pci;
  memset(&pci, 0, sizeof pci);
  int failed = nvml.handle(index, &device);
  if (failed == kOk) failed = nvml.pci(device, &pci);
  if (failed == kOk) failed = nvml.uuid(device, uuid, sizeof uuid);
  if (failed == kOk) failed = nvml.minor(device, &minor);
  if (failed == kOk) failed = nvml.name(device, name, sizeof name);
  if (failed == kOk) failed = nvml.memory(device, &memory);
  if (failed != kOk) {
    say("bad\t%u\t%s\n", index, nvml.error(failed));
    return;
  }
  if (nvml.mig == 0 || nvml.mig(device, &mig, &pending) != kOk) mig = 0;
  say("card\t%u\t%u\t%s\t%s\t%llu\t%u\t%s\n", index, minor, clean(uuid), clean(pci.bus_id), memory.total, mig, clean(name));
  if (events != 0 && index < kMostCards && !watched[index]) {
    failed = nvml.watch(device, kXid, events);
    watched[index] = 1;
    seen[index].device = device;
    snprintf(seen[index].bus_id, sizeof seen[index].bus_id, "%s", pci.bus_id);
    if (failed == kNotSupported) say("unwatched\t%s\n", pci.bus_id);
  }
  Rates rates = {0, 0};
  if (nvml.rates == 0 || nvml.rates(device, &rates) != kOk) rates = (Rates){0, 0};
  say("usage\t%u\t%llu\t%u\t%u\n", index, memory.used, rates.cores, rates.memory);
  report_processes(index, device);
}

static void report_events(void) {
  Event event;
  Pci pci;
  for (int i = 0; i < 64 && events != 0 && nvml.next_event(events, &event, 0) == kOk; ++i) {
    if (event.type != kXid) continue;
    memset(&pci, 0, sizeof pci);
    if (nvml.pci(event.device, &pci) != kOk) {
      pci.bus_id[0] = 0;
      for (int j = 0; j < kMostCards; ++j)
        if (seen[j].device == event.device) memcpy(pci.bus_id, seen[j].bus_id, sizeof pci.bus_id);
    }
    say("xid\t%s\t%llu\n", clean(pci.bus_id), event.data);
  }
}

/* What the asking has cost so far: CPU in microseconds, and the most memory in KiB. */
static void report_cost(void) {
  struct rusage cost;
  if (getrusage(RUSAGE_SELF, &cost) != 0) return;
  say("cost\t%llu\t%ld\n", microseconds(cost.ru_utime) + microseconds(cost.ru_stime), cost.ru_maxrss);
}

static void report(void) {
  char driver[96] = "";
  unsigned count = 0;
  int failed = nvml.driver(driver, sizeof driver);
  if (failed == kOk) failed = nvml.count(&count);
  if (failed != kOk) {
    say("error\t%s\n", nvml.error(failed));
    return;
  }
  told = 0;
  say("driver\t%s\n", clean(driver));
  for (unsigned i = 0; i < count && i < kMostCards; ++i) report_card(i);
  report_events();
  report_cost();
}

static int load(const char* named) {
  void* library = 0;
  if (named != 0)
    library = dlopen(named, RTLD_NOW);
  else
    for (size_t i = 0; i < sizeof kLibraries / sizeof *kLibraries && library == 0; ++i)
      library = dlopen(kLibraries[i], RTLD_NOW);
  if (library == 0) {
    say("absent\tthe driver's library libnvidia-ml.so.1 is not there\n");
    return 0;
  }
  for (size_t i = 0; i < sizeof kFunctions / sizeof *kFunctions; ++i) {
    if (*kFunctions[i].where == 0) *kFunctions[i].where = dlsym(library, kFunctions[i].name);
    if (*kFunctions[i].where == 0 && kFunctions[i].needed) {
      say("error\tthe driver's library has no %s\n", kFunctions[i].name);
      return 0;
    }
  }
  const int failed = nvml.init();
  if (failed != kOk) {
    say("error\tNVML does not start: %s\n", nvml.error(failed));
    return 0;
  }
  if (nvml.new_events == 0 || nvml.watch == 0 || nvml.next_event == 0 || nvml.new_events(&events) != kOk) events = 0;
  return 1;
}

/* Its argument names another library than the driver's: of tests. */
static int run(int count, char** arguments, char** environment) {
  (void)environment;
  char request[64];
  const int loaded = load(count > 1 ? arguments[1] : 0);
  while (read(0, request, sizeof request) > 0) {
    if (loaded) report();
    say("end\n");
    if (!flush() || !loaded) break;
  }
  return 0;
}

__attribute__((used, noreturn)) void begin(int count, char** arguments) {
  __libc_start_main(run, count, arguments, 0, 0, 0, 0);
  _exit(1);
}
