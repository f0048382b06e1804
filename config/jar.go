// SPDX-License-Identifier: Apache-2.0

// Storm's defaults out of its client JAR: right for the release that the workers run.

package config

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Members of the storm-client JAR that we read.
const (
	defaultsMember = "defaults.yaml"
	versionMember  = "storm-client-version-info.properties"
)

// ClientJar finds the storm-client JAR of a Storm home, be it an Apache Storm installation or a folder with only lib-worker. If a
// folder has several, the highest version is taken, since that is what a mixed folder is left with after an upgrade. The error is
// an [fs.ErrNotExist] if there is none.
func ClientJar(stormHome string) (string, error) {
	for _, lib := range []string{"lib-worker", "lib"} {
		jars, err := filepath.Glob(filepath.Join(escapeGlob(filepath.Join(stormHome, lib)), "storm-client-[0-9]*.jar"))
		if err != nil {
			return "", fmt.Errorf("look for the storm-client JAR in %s: %w", stormHome, err)
		}
		if len(jars) > 0 {
			return slices.MaxFunc(jars, func(a, b string) int { return compareVersions(jarVersion(a), jarVersion(b)) }), nil
		}
	}
	return "", fmt.Errorf("storm-client JAR in lib-worker or lib of %s: %w", stormHome, fs.ErrNotExist)
}

// checkRelease compares the release that a Storm home says it is with the JAR that is used out of it: they differ after an upgrade
// that was not finished.
func checkRelease(stormHome, jar, version string) (warnings []string) {
	text, err := os.ReadFile(filepath.Join(stormHome, "RELEASE"))
	if release := strings.TrimSpace(string(text)); err == nil && release != version {
		warnings = append(warnings, fmt.Sprintf("%s says that it is Storm %s, but its client JAR, which is used, is of %s: %s",
			stormHome, release, version, jar))
	}
	return warnings
}

// escapeGlob makes a path a pattern that matches only itself.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// jarVersion is the version in a JAR's file name.
func jarVersion(path string) string {
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "storm-client-"), ".jar")
}

// compareVersions orders versions by their numbers; a suffix such as -SNAPSHOT comes before the release.
func compareVersions(a, b string) int {
	a, aPre, aIsPre := strings.Cut(a, "-")
	b, bPre, bIsPre := strings.Cut(b, "-")
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(as), len(bs)) {
		var x, y string
		if i < len(as) {
			x = as[i]
		}
		if i < len(bs) {
			y = bs[i]
		}
		m, err1 := strconv.Atoi(cmp.Or(x, "0"))
		n, err2 := strconv.Atoi(cmp.Or(y, "0"))
		if err1 != nil || err2 != nil {
			return strings.Compare(a, b)
		}
		if c := cmp.Compare(m, n); c != 0 {
			return c
		}
	}
	if aIsPre != bIsPre {
		if aIsPre {
			return -1
		}
		return 1
	}
	return strings.Compare(aPre, bPre)
}

// readJar returns the defaults in a storm-client JAR and the version it says it has.
func readJar(path string) (Conf, string, error) {
	jar, err := zip.OpenReader(path)
	if err != nil {
		return nil, "", fmt.Errorf("open jar: %w", err)
	}
	defer jar.Close() //nolint:errcheck // only read from
	data, err := readMember(&jar.Reader, defaultsMember)
	if err != nil {
		return nil, "", err
	}
	conf, err := ParseYAML(data)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", defaultsMember, err)
	}
	version := jarVersion(path)
	props, err := readMember(&jar.Reader, versionMember)
	if errors.Is(err, fs.ErrNotExist) {
		return conf, version, nil
	}
	if err != nil {
		return nil, "", err
	}
	lines := bufio.NewScanner(bytes.NewReader(props))
	for lines.Scan() {
		if v, ok := strings.CutPrefix(lines.Text(), "version="); ok {
			version = strings.TrimSpace(v)
		}
	}
	return conf, version, lines.Err()
}

// readMember reads one small file of a JAR, never more than the limit whatever the JAR's directory says of its size.
func readMember(jar *zip.Reader, name string) ([]byte, error) {
	f, err := jar.Open(name)
	if err != nil {
		return nil, fmt.Errorf("jar member %s: %w", name, err)
	}
	defer f.Close() //nolint:errcheck // only read from
	data, err := io.ReadAll(io.LimitReader(f, maxYAMLBytes+1))
	if err != nil {
		return nil, fmt.Errorf("jar member %s: %w", name, err)
	}
	if len(data) > maxYAMLBytes {
		return nil, fmt.Errorf("jar member %s exceeds %d bytes", name, maxYAMLBytes)
	}
	return data, nil
}
