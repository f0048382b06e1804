// SPDX-License-Identifier: Apache-2.0

// Load: defaults, files and overrides merged into the conf of a daemon or client.

package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Options says where the conf comes from. The zero value reads nothing and gives the built-in defaults.
type Options struct {
	StormHome string   // folder of a Storm installation; "" = $STORM_HOME, else none
	ConfDir   string   // folder of storm.yaml; "" = $STORM_CONF_DIR, else conf inside the Storm home
	ConfFile  string   // file to read in place of storm.yaml, which must exist; relative to ConfDir or the working directory; "" = $STORM_CONF_FILE
	Files     []string // further YAML files, each over the one before and over storm.yaml; each must exist
	Overrides Conf     // from the command line: over all else

	Env func(key string) string // os.Getenv in a process; nil = no environment
}

// Sources tells where a conf came from, for the log line at a daemon's start and for "gust config".
type Sources struct {
	StormHome    string            // as found, "" if none
	ConfDir      string            // as found, "" if none
	StormVersion string            // release that the defaults belong to
	Defaults     string            // path of the JAR the defaults were read from, or "built-in"
	Files        []string          // files read, in order
	Of           map[string]string // for each key: "defaults", a file's path, or "override"
	Warnings     []string          // keys that nothing knows, and what else is odd; each once, for the caller to log
}

// Names of the files that Storm looks for in the conf folder.
const (
	stormYAML = "storm.yaml"
	authYAML  = "storm-cluster-auth.yaml" // ZooKeeper credentials of the daemons, in a file that only they may read
)

// StormHome names the Storm home in a conf. Storm itself knows it as a system property only, so no release has it in its table
// of keys; the commands read it where nothing else names the home.
const StormHome = "storm.home"

// builtin is what Sources.Defaults says when no JAR was read.
const builtin = "built-in"

// Load returns the merged conf: gust's defaults, Storm's defaults, storm.yaml (or the file named instead), storm-cluster-auth.yaml
// if there is one, further files, overrides. It does not validate, so that a tool can show a faulty conf; call [Validate] next.
// An error names the file. The conf may hold secrets: show it only through [Redact].
func Load(o Options) (Conf, Sources, error) {
	env := o.Env
	if env == nil {
		env = func(string) string { return "" }
	}
	src := Sources{Of: map[string]string{}}
	src.StormHome = firstOf(o.StormHome, env("STORM_HOME"))
	src.ConfDir = firstOf(o.ConfDir, env("STORM_CONF_DIR"))
	if src.ConfDir == "" && src.StormHome != "" {
		src.ConfDir = filepath.Join(src.StormHome, "conf")
	}
	conf, err := loadDefaults(&src)
	if err != nil {
		return nil, src, err
	}
	for _, path := range confFiles(firstOf(o.ConfFile, env("STORM_CONF_FILE")), src.ConfDir, o.Files) {
		over, err := readYAMLFile(path)
		if err != nil {
			return nil, src, err
		}
		src.Files = append(src.Files, path)
		conf = overlay(conf, over, path, &src)
	}
	conf = overlay(conf, o.Overrides, "override", &src)
	set := Conf{} // what somebody wrote; the defaults of another release may have keys that the table lacks
	for k, where := range src.Of {
		if where != "defaults" {
			set[k] = conf[k]
		}
	}
	src.Warnings = append(src.Warnings, UnknownKeys(set)...)
	src.Warnings = append(src.Warnings, warnIdle(set)...)
	return conf, src, nil
}

func overlay(base, over Conf, name string, src *Sources) Conf {
	for k := range over {
		src.Of[k] = name
	}
	return Merge(base, over)
}

// loadDefaults reads the defaults of the Storm home, or takes the built-in ones where there is none.
func loadDefaults(src *Sources) (Conf, error) {
	src.Defaults, src.StormVersion = builtin, TableVersion
	conf, err := Builtin()
	if err != nil {
		return nil, fmt.Errorf("built-in defaults: %w", err)
	}
	if src.StormHome != "" {
		jar, err := ClientJar(src.StormHome)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			src.Warnings = append(src.Warnings, fmt.Sprintf("%s holds no storm-client JAR; built-in defaults of Storm %s are used", src.StormHome, TableVersion))
		case err != nil:
			return nil, err
		default:
			ours, err := gustDefaults()
			if err != nil {
				return nil, fmt.Errorf("built-in defaults: %w", err)
			}
			storms, version, err := readJar(jar)
			if err != nil {
				return nil, fmt.Errorf("read defaults of Storm from %s: %w", jar, err)
			}
			conf = Merge(ours, storms)
			src.Defaults, src.StormVersion = jar, version
			src.Warnings = append(src.Warnings, checkRelease(src.StormHome, jar, version)...)
		}
	}
	for k := range conf {
		src.Of[k] = "defaults"
	}
	return conf, nil
}

// confFiles lists the files to read, in order.
func confFiles(confFile, confDir string, more []string) []string {
	var files []string
	switch {
	case confFile != "":
		path := confFile
		if !filepath.IsAbs(confFile) && confDir != "" {
			if inDir := filepath.Join(confDir, confFile); exists(inDir) {
				path = inDir
			}
		}
		files = append(files, path)
	case confDir != "":
		if path := filepath.Join(confDir, stormYAML); exists(path) {
			files = append(files, path)
		}
	}
	if confDir != "" {
		if path := filepath.Join(confDir, authYAML); exists(path) {
			files = append(files, path)
		}
	}
	return append(files, more...)
}

// exists is false only if there is nothing: a file that may not be looked at counts, so that reading it gives the error.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func readYAMLFile(path string) (Conf, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read conf: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read from
	data, err := io.ReadAll(io.LimitReader(f, maxYAMLBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read conf %s: %w", path, err)
	}
	conf, err := ParseYAML(data)
	if err != nil {
		return nil, fmt.Errorf("conf %s: %w", path, err)
	}
	return conf, nil
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
