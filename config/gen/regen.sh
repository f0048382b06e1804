#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Writes config/keys.yaml anew from the JARs of one Apache Storm release. Needs a JDK and Maven.
#   config/gen/regen.sh [version]
set -eu
version=${1:-2.8.3}
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cat >"$tmp/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>gust</groupId><artifactId>keys</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.storm</groupId><artifactId>storm-server</artifactId><version>$version</version>
    </dependency>
  </dependencies>
</project>
POM
(cd "$tmp" && mvn -q -B dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=lib)
javac -cp "$tmp/lib/*" -d "$tmp/classes" "$here/DumpKeys.java"
java -Xmx256m -cp "$tmp/classes:$tmp/lib/*" DumpKeys "$version" \
	"$tmp/lib/storm-client-$version.jar" "$tmp/lib/storm-server-$version.jar" >"$tmp/keys.yaml"
mv "$tmp/keys.yaml" "$here/../keys.yaml"
