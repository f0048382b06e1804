#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compiles Twin.java; Twin.class is committed, so that no build of gust needs a JDK. With an argument it makes classes.txt
# anew instead: the argument is the log of a worker that was started with
#
#   topology.worker.childopts: "-Xlog:class+init=info:file=/tmp/classes-%p.log"
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
	BEGIN {
		print "# Classes that a worker of Storm 2.8.3 initializes on JDK 17 until its first tuple is acked, in that order; see make.sh."
	}
	match($0, /\[class,init *\] [0-9]+ Initializing \047[^\047]+\047/) {
		name = substr($0, RSTART, RLENGTH)
		sub(/^[^\047]*\047/, "", name); sub(/\047$/, "", name); gsub("/", ".", name)
		if (name !~ /^(java|jdk|sun)\./) begun = 1
		if (!begun || seen[name]++) next
		if (name ~ /\+0x|\$\$Lambda|\$Proxy|LambdaForm|Species_|Generated[A-Za-z]*Accessor|(Constructor|Field|Method)Access$/) next
		if (name ~ /^org\.gust\./) next
		print name
	}
' "$1" >classes.txt.new
mv classes.txt.new classes.txt
