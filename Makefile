# sayiir_pg: durable workflow state inside PostgreSQL
#
# `make`, `make install`, `make installcheck` are PGXS's and need a server with headers;
# `make demo` and `make test` need nothing but git and make. `make help` lists all.

EXTENSION  = sayiir_pg
# The version lives in the control file alone; `make checkver` compares the rest with it.
EXTVERSION := $(shell sed -n "s/^default_version *= *'\([^']*\)'.*/\1/p" $(EXTENSION).control)

MODULE_big = $(EXTENSION)
SRCS       := $(sort $(wildcard src/*.c))
HDRS       := $(sort $(wildcard src/*.h))
OBJS       := $(SRCS:.c=.o)
DATA       := $(sort $(wildcard $(EXTENSION)--*.sql))
PGFILEDESC = "sayiir_pg - durable workflow state"

REGRESS        := $(patsubst test/sql/%.sql,%,$(sort $(wildcard test/sql/*.sql)))
REGRESS_OPTS   = --inputdir=test
ISOLATION      := $(patsubst test/specs/%.spec,%,$(sort $(wildcard test/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test

# -Wextra without what PostgreSQL's own headers and calling convention provoke.
WARNINGS   = -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers
WARNINGS  += $(if $(filter-out 0,$(WERROR)),-Werror)
PG_CFLAGS  = -std=gnu99 $(WARNINGS)
PG_CPPFLAGS = -DSAYIIR_PG_VERSION='"$(EXTVERSION)"'

# History is stored as deltas where libzstd is there: by pkg-config, or where the compiler finds
# it. WITH_LIBZSTD=no builds without it, and then every version is stored whole.
LIBZSTD := $(if $(filter no,$(WITH_LIBZSTD)),,$(shell pkg-config --cflags --libs libzstd 2>/dev/null || \
	{ printf '\043include <zstd.h>\n' | $(or $(CC),cc) -E - >/dev/null 2>&1 && echo -lzstd; }))
ifneq ($(LIBZSTD),)
PG_CPPFLAGS += -DUSE_LIBZSTD_HISTORY $(filter-out -l% -L%,$(LIBZSTD))
SHLIB_LINK  += $(filter -l% -L%,$(LIBZSTD))
endif

# Our functions call each other, not those of the same name in another library: before 16, a
# server gives all libraries one space of names.
ifneq ($(shell uname -s),Darwin)
SHLIB_LINK += -Wl,-Bsymbolic
endif

EXTRA_CLEAN = .build-flags .stage tmp_check

# The first target, with or without PGXS.
all:

PG_CONFIG ?= pg_config
PGXS      := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)

ifneq ($(wildcard $(PGXS)),)

# The name of the clang that this server makes bitcode with; without it, no bitcode.
SERVER_CLANG := $(shell sed -n 's/^CLANG *= *//p' $(dir $(PGXS))../Makefile.global)
ifeq ($(shell command -v $(firstword $(SERVER_CLANG) none) 2>/dev/null),)
override with_llvm = no
SERVER_CLANG := clang
endif

include $(PGXS)

# PGXS tracks no headers; and objects made for another server or with other flags must not be linked.
$(OBJS) $(OBJS:.o=.bc): $(HDRS) .build-flags

BUILD_FLAGS = $(subst ','\'',$(VERSION) $(CC) $(CPPFLAGS) $(CFLAGS) $(COPT) $(PGXS))
.build-flags: FORCE
	@echo '$(BUILD_FLAGS)' | cmp -s - $@ || echo '$(BUILD_FLAGS)' >$@

# A second compiler's eyes on each file, without objects: make src/arg.c.lint
# (gnu_printf is gcc's name for it, which a server built by gcc has in its headers.)
LINT_FLAGS = -std=gnu99 $(WARNINGS) -Wmissing-prototypes -Wpointer-arith -Wformat-security \
	-Wmissing-format-attribute -Wdeclaration-after-statement -Wvla -Wimplicit-fallthrough \
	-Dgnu_printf=printf
lint: $(SRCS:=.lint)
%.c.lint: %.c FORCE
	$(SERVER_CLANG) -fsyntax-only $(LINT_FLAGS) $(CPPFLAGS) $<

else

all install uninstall installcheck clean lint:
	@echo "$(PG_CONFIG): no PostgreSQL server with its headers is there, which '$@' needs." >&2
	@echo "On Debian and Ubuntu: apt-get install postgresql-server-dev-NN, or make test, which says more." >&2
	@exit 1

endif

# --- For contributors; see CONTRIBUTING.md ---------------------------------------------------

demo: ## install what is missing, build, and show the extension at work
	@dev/run dev/demo

test: ## install what is missing, build, and run every suite, or TESTS="SUITE [NAME...]"
	@dev/run dev/test $(TESTS)

test-long: ## the same with a longer fuzzing run and the long suites, dev/long-*; then make versions
	@status=0; dev/run dev/test --long || status=$$?; dev/versions || status=$$?; exit $$status

versions: ## every suite on new machines with PostgreSQL 15, 17 and 18 (dev/versions)
	@dev/versions

bench: ## measure (bench/run)
	@dev/run bench/run

rules: ## check the rules of this tree (dev/check-rules)
	@dev/check-rules

checkver: ## compare the version in the control file with the other places that name it
	@dev/check-rules version

dist: checkver ## a zip of the last commit, as distributors take it
	git archive --format=zip --prefix=$(EXTENSION)-$(EXTVERSION)/ --output=$(EXTENSION)-$(EXTVERSION).zip HEAD

help: ## this list
	@echo 'make, make install, make installcheck: build, install, test against a running server'
	@echo '  PG_CONFIG=/path/to/pg_config selects the server, WERROR=1 makes warnings errors'
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/make \1: \2/p' Makefile

FORCE:
.PHONY: all install uninstall installcheck clean lint demo test test-long versions bench rules checkver dist help FORCE
