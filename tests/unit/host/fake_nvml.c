/* A driver's library of tests: what it says stands in the file that /proc/self/environ cannot tell (its
 * environment is empty), so beside the library itself: LIBRARY.say. One line a card: "MINOR UUID BUS MEMORY MIG
 * NAME", or "lost"; "process CARD PID CORES BYTES AGE" is one of a card's, whose sample is AGE seconds old, where there is
 * any such line (else the helper itself is); "crowd CARD COUNT": so many compute on it; "usage CARD BYTES CORES MEMORY" is what a card says; "hang", "crash", "xid BUS CODE" and "lostxid INDEX CODE" (of a card that does not answer) are what they say. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define MOST 300
static char lines[MOST][256];
static unsigned cards;
static char xid_bus[64];
static unsigned long long xid_code;
static unsigned xid_index; /* 0: by xid_bus */

static struct {
  unsigned card, pid, cores, age;
  unsigned long long memory;
} processes[MOST];
static unsigned scripted;
static unsigned long long usages[MOST][3];
static unsigned crowds[MOST];

static void read_script(void) {
  Dl_info self;
  char path[512];
  dladdr((void*)&read_script, &self);
  snprintf(path, sizeof path, "%s.say", self.dli_fname);
  FILE* file = fopen(path, "r");
  cards = scripted = 0;
  memset(usages, 0, sizeof usages);
  memset(crowds, 0, sizeof crowds);
  xid_code = xid_index = 0;
  char line[256];
  while (file != 0 && cards < MOST && fgets(line, sizeof line, file) != 0) {
    line[strcspn(line, "\n")] = 0;
    if (strcmp(line, "hang") == 0) pause();
    if (strcmp(line, "crash") == 0) abort();
    if (sscanf(line, "lostxid %u %llu", &xid_index, &xid_code) == 2) {
      ++xid_index;
      continue;
    }
    unsigned card = 0;
    unsigned long long usage[3];
    if (sscanf(line, "usage %u %llu %llu %llu", &card, &usage[0], &usage[1], &usage[2]) == 4) {
      memcpy(usages[card % MOST], usage, sizeof usage);
      continue;
    }
    unsigned crowd = 0;
    if (sscanf(line, "crowd %u %u", &card, &crowd) == 2) {
      crowds[card % MOST] = crowd;
      continue;
    }
    if (sscanf(line, "process %u %u %u %llu %u", &processes[scripted].card, &processes[scripted].pid,
               &processes[scripted].cores, &processes[scripted].memory, &processes[scripted].age) == 5) {
      scripted += scripted + 1 < MOST;
      continue;
    }
    if (sscanf(line, "xid %63s %llu", xid_bus, &xid_code) == 2) continue;
    strcpy(lines[cards++], line);
  }
  if (file != 0) fclose(file);
}
static int part(void* device, int number, char* out, unsigned size) {
  const char* at = lines[(size_t)device - 1];
  for (int i = 0; i < number; ++i) at = strchr(at, ' ') + 1;
  const size_t length = number == 5 ? strlen(at) : strcspn(at, " ");
  snprintf(out, size, "%.*s", (int)length, at);
  return 0;
}
static unsigned long long number_of(void* device, int which) {
  char text[64];
  part(device, which, text, sizeof text);
  return strtoull(text, 0, 10);
}

int nvmlInit_v2(void) { return 0; }
int nvmlSystemGetDriverVersion(char* out, unsigned size) {
  read_script();
  snprintf(out, size, "535.104.05");
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = cards;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (strcmp(lines[index], "lost") == 0) return 15;
  *device = (void*)(size_t)(index + 1);
  return 0;
}
int nvmlDeviceGetUUID(void* device, char* out, unsigned size) { return part(device, 1, out, size); }
int nvmlDeviceGetMinorNumber(void* device, unsigned* minor) {
  *minor = (unsigned)number_of(device, 0);
  return 0;
}
int nvmlDeviceGetName(void* device, char* out, unsigned size) { return part(device, 5, out, size); }
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* memory) {
  memory[0] = number_of(device, 3);
  memory[2] = usages[(size_t)device - 1][0];
  memory[1] = memory[0] - memory[2];
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* device, unsigned* rates) {
  rates[0] = (unsigned)usages[(size_t)device - 1][1];
  rates[1] = (unsigned)usages[(size_t)device - 1][2];
  return 0;
}
struct Pci {
  char legacy[16];
  unsigned numbers[5];
  char bus[32];
};
int nvmlDeviceGetPciInfo_v3(void* device, struct Pci* pci) {
  if (device == (void*)-1) {
    snprintf(pci->bus, sizeof pci->bus, "%s", xid_bus);
    return 0;
  }
  if (strcmp(lines[(size_t)device - 1], "lost") == 0) return 15;
  return part(device, 2, pci->bus, sizeof pci->bus);
}
int nvmlDeviceGetMigMode(void* device, unsigned* now, unsigned* later) {
  *now = *later = (unsigned)number_of(device, 4);
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses(void* device, unsigned* count, void* where) {
  struct {
    unsigned pid;
    unsigned long long memory;
  }* to = where;
  unsigned found = 0;
  const unsigned crowd = crowds[((size_t)device - 1) % MOST];
  if (crowd > *count) {
    *count = crowd;
    return 7; /* INSUFFICIENT_SIZE */
  }
  for (; found < crowd; ++found) {
    to[found].pid = 100 + found;
    to[found].memory = 1;
  }
  if (crowd != 0) {
    *count = found;
    return 0;
  }
  for (unsigned i = 0; i < scripted && found < *count; ++i) {
    if (processes[i].card != (size_t)device - 1) continue;
    to[found].pid = processes[i].pid;
    to[found++].memory = processes[i].memory;
  }
  if (scripted != 0) {
    *count = found;
    return 0;
  }
  to[0].pid = (unsigned)getpid();
  to[0].memory = 1048576;
  *count = 1;
  return 0;
}
struct Sample {
  unsigned pid;
  unsigned long long at;
  unsigned values[4];
};
int nvmlDeviceGetProcessUtilization(void* device, struct Sample* samples, unsigned* count, unsigned long long since) {
  struct timeval now;
  gettimeofday(&now, 0);
  const unsigned long long us = (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_usec;
  unsigned found = 0;
  for (unsigned i = 0; i < scripted && found < *count; ++i) {
    const unsigned long long at = us - processes[i].age * 1000000ULL;
    if (processes[i].card != (size_t)device - 1 || at <= since) continue;
    samples[found++] = (struct Sample){processes[i].pid, at, {processes[i].cores, 0, 0, 0}};
  }
  if (scripted != 0) {
    *count = found;
    return found != 0 ? 0 : 6; /* NOT_FOUND: nobody did anything */
  }
  samples[0] = (struct Sample){(unsigned)getpid(), 7, {30, 0, 0, 0}};
  samples[1] = (struct Sample){(unsigned)getpid(), 9, {40, 0, 0, 0}};
  *count = 2;
  return 0;
}
int nvmlEventSetCreate(void** events) {
  *events = (void*)1;
  return 0;
}
int nvmlDeviceRegisterEvents(void* device, unsigned long long types, void* events) {
  (void)types, (void)events;
  char name[96];
  part(device, 5, name, sizeof name);
  return strstr(name, "Old") != 0 ? 3 : 0;
}
struct Event {
  void* device;
  unsigned long long type, data;
  unsigned instances[2];
};
int nvmlEventSetWait_v2(void* events, struct Event* event, unsigned wait) {
  (void)events, (void)wait;
  if (xid_code == 0) return 10;
  *event = (struct Event){xid_index != 0 ? (void*)(size_t)xid_index : (void*)-1, 8, xid_code, {0, 0}};
  xid_code = 0;
  return 0;
}
const char* nvmlErrorString(int code) { return code == 15 ? "GPU is lost" : "Unknown Error"; }
