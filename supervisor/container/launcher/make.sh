#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compiles Twin.java; Twin.class is committed, so that no build of gust needs a JDK. With an argument it makes classes.txt
# anew instead: the argument is the log of a worker that was started with
#
#   topology.worker.childopts: "-Xlog:class+init=info,class+load=info:file=/tmp/classes-%p.log"
#
# and killed when its first tuples were acked. The order is the one in which the worker initialized the classes, and stays.
# Left out are what the JVM initializes before any program, what it makes up as it goes, and what is the topology's own.
#
# usage: make.sh [LOG]
set -eu
cd "$(dirname "$0")"
if [ $# -eq 0 ]; then
	out=$(mktemp -d)
	trap 'rm -rf "$out"' EXIT
	javac --release 11 -g:none -Xlint:all -d "$out" Twin.java
	new=$out/org/gust/launcher/Twin.class
	# Compilers number things differently; that is no change.
	show() { javap -c -p -constants "$1" | sed 's/#[0-9][0-9]*/#/g'; }
	if ! [ -f Twin.class ] || [ "$(show "$new")" != "$(show Twin.class)" ]; then
		cp "$new" Twin.class
	fi
	exit
fi
awk '
	function spell(name) { gsub("/", ".", name); return name }
	function ours(name) {
		if (name !~ /^(java|jdk|sun)\./) begun = 1
		return begun && name !~ /\+0x|\.0x|\$\$Lambda|\$Proxy|LambdaForm|Species_|Generated[A-Za-z]*Accessor|(Constructor|Field|Method)Access$|^org\.gust\./
	}
	BEGIN {
		print "# What a worker of Storm 2.8.3 on JDK 17 initializes until its first tuple is acked, and, after a minus, only loads, in that order; see make.sh."
	}
	match($0, /\[class,load *\] [^ ]+ source: (file|jrt|shared)/) {
		split(substr($0, RSTART, RLENGTH), word, " +|\\] *")
		name = spell(word[2])
		if (ours(name) && !(name in place)) { place[name] = ++count; at[count] = "-" name }
	}
	match($0, /\[class,init *\] [0-9]+ Initializing \047[^\047]+\047/) {
		name = substr($0, RSTART, RLENGTH)
		sub(/^[^\047]*\047/, "", name); sub(/\047$/, "", name); name = spell(name)
		if (!ours(name)) next
		if (name in place) delete at[place[name]]
		place[name] = ++count; at[count] = name
	}
	END { for (i = 1; i <= count; i++) if (i in at) print at[i] }
' "$1" >classes.txt.new
mv classes.txt.new classes.txt
