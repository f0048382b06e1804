#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Makes classlist.txt anew from what a worker recorded with -XX:DumpLoadedClassList=RAW (put it into
# topology.worker.childopts, kill the worker when its spout is open). Classes of the JDK's own list are left out, as
# every archive gets that list too.
#
# usage: classlist.sh RAW JAVA_HOME > classlist.txt
set -eu
export LC_ALL=C
jdk=$(mktemp)
trap 'rm -f "$jdk"' EXIT
sort -u "$2/lib/classlist" > "$jdk"
sort -u "$1" | comm -23 - "$jdk" | grep -v -e '^#' -e 'source:' -e '^org/apache/storm/testing/'
