// A plugin for qemu-aarch64 (TCG plugin API 1, QEMU 4.2 to 9): counts the guest's instructions by class, exactly and repeatably.
//
//   qemu-aarch64 -plugin libinsn.so[,out=FILE][,functions=TEXT] PROGRAM …
//
// Prints one JSON object: the counts of the whole program; of what ran between calls of count_begin() and count_end(), if the
// program has functions of these names; and of each function whose name contains TEXT. For programs with one busy thread.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Debian's packages lack qemu-plugin.h; this is the part of it that is used here.
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef struct qemu_info_t qemu_info_t;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t, struct qemu_plugin_tb*));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn* insn, void (*callback)(unsigned, void*),
                                            enum qemu_plugin_cb_flags flags, void* data);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn* insn, enum qemu_plugin_op op, void* target,
                                                uint64_t add);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* tb);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb* tb, size_t index);
const void* qemu_plugin_insn_data(const struct qemu_plugin_insn* insn);
const char* qemu_plugin_insn_symbol(const struct qemu_plugin_insn* insn);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t, void*), void* data);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;

enum { MULTIPLY_ADD, DOT, OTHER_SIMD, LOAD, STORE, BRANCH, OTHER, CLASSES };
static const char* const kNames[CLASSES] = {"multiply_adds", "dots", "other_simd", "loads", "stores", "branches", "others"};

struct counts {
  uint64_t n[CLASSES];
};
struct function {
  char name[160];
  struct counts counts;
  struct function* next;
};

static struct counts total, at_begin, between;
static bool has_region;
static struct function* functions;
static const char* wanted;
static FILE* out;

static bool is(uint32_t word, uint32_t mask, uint32_t value) { return (word & mask) == value; }

// A64's "Loads and Stores". Pre-fetches count as loads, atomic read-modify-writes too.
static int load_or_store(uint32_t word) {
  if (is(word, 0x3B000000, 0x18000000)) return LOAD;  // from a literal pool
  if (is(word, 0x3A000000, 0x38000000)) {             // one register
    const unsigned opc = word >> 22 & 3, simd = word >> 26 & 1, size = word >> 30;
    return opc == 0 || (opc == 2 && simd && size == 0) ? STORE : LOAD;
  }
  return word >> 22 & 1 ? LOAD : STORE;  // pairs, structures, exclusive ones
}

static int class_of(uint32_t word) {
  const bool fmla_vector = is(word, 0xBFA0FC00, 0x0E20CC00) || is(word, 0xBFE0FC00, 0x0E40CC00);
  const bool fmul_vector = is(word, 0xBFA0FC00, 0x2E20DC00) || is(word, 0xBFE0FC00, 0x2E401C00);
  const bool fmla_element = is(word, 0xBF80F400, 0x0F801000) || is(word, 0xBFC0F400, 0x0F001000);
  const bool fmul_element = is(word, 0xBF80F400, 0x0F809000) || is(word, 0xBFC0F400, 0x0F009000);
  const bool fmls = is(word, 0xBFA0FC00, 0x0EA0CC00) || is(word, 0xBF80F400, 0x0F805000);
  if (fmla_vector || fmul_vector || fmla_element || fmul_element || fmls) return MULTIPLY_ADD;
  if (is(word, 0x9FE0FC00, 0x0E809400) || is(word, 0x9FC0F400, 0x0F80E000)) return DOT;  // sdot, udot
  if (is(word, 0xFFE0FC00, 0x4E80A400) || is(word, 0xFFE0FC00, 0x6E80A400)) return DOT;  // smmla, ummla
  const unsigned group = word >> 25 & 15;
  if (group == 7 || group == 15) return OTHER_SIMD;
  if ((group & 5) == 4) return load_or_store(word);
  return (group & 14) == 10 ? BRANCH : OTHER;
}

static struct counts* counts_of(const char* symbol) {
  for (struct function* f = functions; f; f = f->next)
    if (strncmp(f->name, symbol, sizeof f->name - 1) == 0) return &f->counts;
  struct function* f = calloc(1, sizeof *f);
  snprintf(f->name, sizeof f->name, "%s", symbol);
  f->next = functions;
  functions = f;
  return &f->counts;
}

static void begin(unsigned cpu, void* data) {
  (void)cpu, (void)data;
  at_begin = total;
  has_region = true;
}

static void end(unsigned cpu, void* data) {
  (void)cpu, (void)data;
  for (int i = 0; i < CLASSES; ++i) between.n[i] += total.n[i] - at_begin.n[i];
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb* tb) {
  (void)id;
  for (size_t i = 0, n = qemu_plugin_tb_n_insns(tb); i < n; ++i) {
    struct qemu_plugin_insn* insn = qemu_plugin_tb_get_insn(tb, i);
    uint32_t word;
    memcpy(&word, qemu_plugin_insn_data(insn), sizeof word);
    const int kind = class_of(word);
    const char* symbol = qemu_plugin_insn_symbol(insn);
    qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &total.n[kind], 1);
    if (!symbol) continue;
    if (wanted && strstr(symbol, wanted))
      qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &counts_of(symbol)->n[kind], 1);
    // Only the call's last instruction, so that each call is seen once.
    const bool returns = is(word, 0xFFFFFC1F, 0xD65F0000);
    if (returns && strcmp(symbol, "count_begin") == 0)
      qemu_plugin_register_vcpu_insn_exec_cb(insn, begin, QEMU_PLUGIN_CB_NO_REGS, NULL);
    if (returns && strcmp(symbol, "count_end") == 0)
      qemu_plugin_register_vcpu_insn_exec_cb(insn, end, QEMU_PLUGIN_CB_NO_REGS, NULL);
  }
}

static void print(const char* name, const struct counts* counts) {
  uint64_t sum = 0;
  for (int i = 0; i < CLASSES; ++i) sum += counts->n[i];
  fprintf(out, "\"%s\": {\"instructions\": %llu", name, (unsigned long long)sum);
  for (int i = 0; i < CLASSES; ++i) fprintf(out, ", \"%s\": %llu", kNames[i], (unsigned long long)counts->n[i]);
  fputc('}', out);
}

static void finished(qemu_plugin_id_t id, void* data) {
  (void)id, (void)data;
  fputc('{', out);
  print("total", &total);
  if (has_region) {
    fputs(",\n ", out);
    print("between", &between);
  }
  fputs(",\n \"functions\": {", out);
  for (struct function* f = functions; f; f = f->next) {
    print(f->name, &f->counts);
    if (f->next) fputs(",\n  ", out);
  }
  fputs("}}\n", out);
  fflush(out);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc, char** argv) {
  (void)info;
  out = stderr;
  for (int i = 0; i < argc; ++i) {
    if (strncmp(argv[i], "functions=", 10) == 0) {
      wanted = strdup(argv[i] + 10);
    } else if (strncmp(argv[i], "out=", 4) == 0) {
      out = fopen(argv[i] + 4, "w");
      if (!out) return -1;
    } else {
      fprintf(stderr, "insn_plugin: unknown option %s\n", argv[i]);
      return -1;
    }
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, finished, NULL);
  return 0;
}
