# dev/env.sh: which PostgreSQL is used, and where the extension is staged.
# Source it in bash with the top of the tree as current folder.
#
# In:  PG_CONFIG (a pg_config to use) or PG_MAJOR (15, 16, ...); without both, the newest
#      server with headers that is present. STAGE, if another folder is wanted.
# Out: PG_CONFIG, PG_BIN (programs of the server), PG_MAJOR, STAGE (absolute; fill it with
#      `make install DESTDIR=$STAGE PG_CONFIG=$PG_CONFIG`), and the function extension_conf.

# Prints the pg_config to use, nothing when there is no server with headers.
find_pg_config() {
	local bin
	if [ -n "${PG_CONFIG:-}" ]; then
		command -v "$PG_CONFIG" || true
		return
	fi
	for bin in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -t/ -k5,5Vr); do
		# Debian's client package brings no pg_config there, its server-dev package does.
		[ -x "$bin/pg_config" ] || continue
		[ "$bin" = "/usr/lib/postgresql/${PG_MAJOR:-$(basename "${bin%/bin}")}/bin" ] || continue
		[ -e "$("$bin/pg_config" --pgxs)" ] || continue
		echo "$bin/pg_config"
		return
	done
	# Another system's way: whatever pg_config the PATH has, if it is of the wanted version.
	bin=$(command -v pg_config) || return 0
	case "$("$bin" --version 2>/dev/null)" in
		"PostgreSQL ${PG_MAJOR:-}"*) [ ! -e "$("$bin" --pgxs)" ] || echo "$bin" ;;
	esac
}

# Prints the postgresql.conf lines by which a server finds the staged extension, library included.
extension_conf() {
	local sharedir pkglibdir
	sharedir=$("$PG_CONFIG" --sharedir)
	pkglibdir=$("$PG_CONFIG" --pkglibdir)
	if [ "$PG_MAJOR" -ge 18 ]; then
		echo "extension_control_path = '$STAGE$sharedir:\$system'"
	else
		# A setting of Debian's servers (and of those that follow them), not of PostgreSQL itself.
		echo "extension_destdir = '$STAGE'"
	fi
	echo "dynamic_library_path = '$STAGE$pkglibdir:\$libdir'"
}

PG_CONFIG=$(find_pg_config)
if [ -z "$PG_CONFIG" ]; then
	echo "no PostgreSQL server${PG_MAJOR:+ $PG_MAJOR} with headers is installed; see CONTRIBUTING.md" >&2
	return 1
fi
PG_BIN=$("$PG_CONFIG" --bindir)
PG_MAJOR=$("$PG_CONFIG" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
STAGE=${STAGE:-$PWD/.stage/$PG_MAJOR}
export PG_CONFIG PG_BIN PG_MAJOR STAGE
