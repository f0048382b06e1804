// SPDX-License-Identifier: Apache-2.0

// Tests of Load, overrides, paths and redaction.

package config

import (
	"archive/zip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// home makes a Storm home with a client JAR in the given library folder.
func home(t *testing.T, lib, version, defaults string) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{lib, "conf"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	addJar(t, filepath.Join(dir, lib, "storm-client-"+version+".jar"), defaults)
	return dir
}

func addJar(t *testing.T, path, defaults string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for name, text := range map[string]string{
		defaultsMember: defaults,
		versionMember:  "# build\nversion=" + jarVersion(path) + "\nrevision=abc\n",
	} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLoadBuiltin(t *testing.T) {
	t.Parallel()
	conf, src, err := Load(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if src.Defaults != builtin || src.StormVersion != TableVersion || len(src.Warnings) != 0 {
		t.Errorf("have %+v", src)
	}
	if n := conf.Int(NimbusThriftPort, 0); n != 6627 {
		t.Errorf("nimbus.thrift.port is %d", n)
	}
	if n := conf.Int(GustNimbusDetectionTimeoutSecs, 0); n != 5 {
		t.Errorf("gust.nimbus.detection.timeout.secs is %d", n)
	}
	if d := cmp.Diff([]int64{6700, 6701, 6702, 6703}, conf.Ints(SupervisorSlotsPorts)); d != "" {
		t.Error(d)
	}
}

func TestLoadOrder(t *testing.T) {
	t.Parallel()
	for _, lib := range []string{"lib-worker", "lib"} {
		t.Run(lib, func(t *testing.T) {
			t.Parallel()
			dir := home(t, lib, "2.6.4", "a.default: 1\nb.file: 1\nc.auth: 1\nd.more: 1\ne.over: 1\nf.null: 1\n")
			addJar(t, filepath.Join(dir, lib, "storm-client-2.6.10-SNAPSHOT.jar"), "nimbus.thrift.port: 1\n")
			addJar(t, filepath.Join(dir, lib, "storm-client-2.6.10.jar"), "storm.gone: 1\na.default: 1\nb.file: 1\nc.auth: 1\nd.more: 1\ne.over: 1\nf.null: 1\n")
			yamlFile, authFile := filepath.Join(dir, "conf", stormYAML), filepath.Join(dir, "conf", authYAML)
			more := filepath.Join(dir, "more.yaml")
			write(t, yamlFile, "b.file: 2\nc.auth: 2\nd.more: 2\ne.over: 2\nf.null: null\n")
			write(t, authFile, "c.auth: 3\nd.more: 3\ne.over: 3\n")
			write(t, more, "d.more: 4\ne.over: 4\n")
			env := map[string]string{"STORM_HOME": dir}
			conf, src, err := Load(Options{
				Env: func(k string) string { return env[k] }, Files: []string{more}, Overrides: Conf{"e.over": "5"},
			})
			if err != nil {
				t.Fatal(err)
			}
			have := Conf{}
			for _, k := range []string{"a.default", "b.file", "c.auth", "d.more", "e.over", "f.null", GustWorkerCdsEnabled} {
				have[k] = conf[k]
			}
			want := Conf{
				"a.default": int64(1), "b.file": int64(2), "c.auth": int64(3), "d.more": int64(4), "e.over": "5", "f.null": nil,
				GustWorkerCdsEnabled: true,
			}
			if d := cmp.Diff(want, have); d != "" {
				t.Error(d)
			}
			if conf.Has(NimbusThriftPort) {
				t.Error("the built-in defaults of Storm were mixed into those of the JAR")
			}
			if len(src.Warnings) != 0 {
				t.Errorf("warned of a key of Storm's own defaults: %v", src.Warnings)
			}
			if src.StormVersion != "2.6.10" || src.Defaults != filepath.Join(dir, lib, "storm-client-2.6.10.jar") {
				t.Errorf("have version %s from %s", src.StormVersion, src.Defaults)
			}
			if d := cmp.Diff([]string{yamlFile, authFile, more}, src.Files); d != "" {
				t.Error(d)
			}
			if src.Of["a.default"] != "defaults" || src.Of["c.auth"] != authFile || src.Of["e.over"] != "override" {
				t.Errorf("have %v", src.Of)
			}
		})
	}
}

func TestLoadConfFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, stormYAML), "nimbus.thrift.port: 1")
	write(t, filepath.Join(dir, "other.yaml"), "nimbus.thrift.port: 2")
	env := map[string]string{"STORM_CONF_DIR": dir, "STORM_CONF_FILE": "other.yaml"}
	conf, _, err := Load(Options{Env: func(k string) string { return env[k] }})
	if err != nil || conf.Int(NimbusThriftPort, 0) != 2 {
		t.Errorf("by environment: have %v, %v", conf[NimbusThriftPort], err)
	}
	conf, _, err = Load(Options{ConfDir: dir})
	if err != nil || conf.Int(NimbusThriftPort, 0) != 1 {
		t.Errorf("by folder: have %v, %v", conf[NimbusThriftPort], err)
	}
}

func TestLoadFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.yaml")
	write(t, bad, "a: 1\n  b: [")
	if err := os.MkdirAll(filepath.Join(dir, "home", "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	jar := filepath.Join(dir, "home", "lib", "storm-client-2.8.3.jar")
	write(t, jar, "no zip")
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"Missing": {Options{ConfFile: filepath.Join(dir, "none.yaml")}, "none.yaml: no such file"},
		"Syntax":  {Options{ConfFile: bad}, "conf " + bad + ": parse yaml: line"},
		"Jar":     {Options{StormHome: filepath.Join(dir, "home")}, "read defaults of Storm from " + jar},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := Load(c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("have %v, want %q", err, c.want)
			}
		})
	}
}

func TestLoadWarnings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, src, err := Load(Options{StormHome: dir, Overrides: Conf{
		"nimbus.thrift.prot": int64(1), "gust.worker.twin.enable": "x", "supervisor.frobnicate": true, "my.own.key": 1.0, "nimbus": "x",
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		dir + " holds no storm-client JAR; built-in defaults of Storm " + TableVersion + " are used",
		"unknown key gust.worker.twin.enable: did you mean gust.worker.twin.enabled?",
		"unknown key nimbus.thrift.prot: did you mean nimbus.thrift.port?",
		"unknown key supervisor.frobnicate",
	}
	if d := cmp.Diff(want, src.Warnings); d != "" {
		t.Error(d)
	}
}

// TestLoadKeysWithoutEffect has keys that do nothing in gust: set to something, to their default, switched off, and one of a daemon
// that gust does not replace.
func TestLoadKeysWithoutEffect(t *testing.T) {
	t.Parallel()
	_, src, err := Load(Options{Overrides: Conf{
		StormResourceIsolationPluginEnable: true, NimbusUsers: []any{"ann"}, NimbusThriftTlsPort: int64(6628), NimbusChildopts: "-Xmx1024m",
		NimbusAdmins: []any{}, NimbusThriftTlsServerOnly: false, NimbusGroups: nil, UiChildopts: "-Xmx1m", NimbusThriftThreads: int64(1),
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"set, and without effect in gust: nimbus.thrift.tls.port, nimbus.users, storm.resource.isolation.plugin.enable"}
	if d := cmp.Diff(want, src.Warnings); d != "" {
		t.Error(d)
	}
}

// TestLoadHalfAnUpgrade has a Storm home whose RELEASE and JAR differ.
func TestLoadHalfAnUpgrade(t *testing.T) {
	t.Parallel()
	dir := home(t, "lib-worker", "2.8.3", "a: 1")
	for release, want := range map[string][]string{
		"2.8.3\n": nil,
		"2.8.1\n": {dir + " says that it is Storm 2.8.1, but its client JAR, which is used, is of 2.8.3: " + filepath.Join(dir, "lib-worker", "storm-client-2.8.3.jar")},
	} {
		write(t, filepath.Join(dir, "RELEASE"), release)
		_, src, err := Load(Options{StormHome: dir})
		if d := cmp.Diff(want, src.Warnings); err != nil || d != "" {
			t.Errorf("RELEASE %q: %v %s", release, err, d)
		}
	}
}

func TestParseOverride(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]any{
		"k=8": int64(8), "k=8.0": 8.0, `k="8"`: "8", "k=abc": "abc", "k=": "", "k=a=b": "a=b", "k=true": true, "k=null": nil,
		`k=[1,"a"]`: []any{int64(1), "a"}, `k={"a":1}`: map[string]any{"a": int64(1)}, "k=-Xmx64m": "-Xmx64m", "k=1 2": "1 2",
		"k=[a, b c,1.5]": []any{"a", "b c", 1.5}, "k={a:[b],c:{d:007}}": map[string]any{"a": []any{"b"}, "c": map[string]any{"d": int64(7)}},
		"k=[a": "[a", "k={a": "{a", "k={a:}": "{a:}", "k='a, b'": "a, b", "k=it's": "it's", "k=" + strings.Repeat("[", 60): strings.Repeat("[", 60),
	} {
		key, have, err := ParseOverride(in)
		if err != nil || key != "k" {
			t.Errorf("%s: have key %q, %v", in, key, err)
		}
		if d := cmp.Diff(want, have); d != "" {
			t.Errorf("%s: %s", in, d)
		}
	}
	for _, in := range []string{"k", "", "=v"} {
		if _, _, err := ParseOverride(in); err == nil {
			t.Errorf("%q passed", in)
		}
	}
}

func TestStormOptionsRoundTrip(t *testing.T) {
	t.Parallel()
	in := Conf{"a": "8", "b": int64(8), "c": "x,y z+%=", "d": []any{1.0, nil}, "e": map[string]any{"k": "ä"}}
	text, err := StormOptions(in)
	if err != nil {
		t.Fatal(err)
	}
	out, err := parseStormOptions(text)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(in, out); d != "" {
		t.Errorf("%s: %s", text, d)
	}
}

// parseStormOptions reads as a Java process of Storm does.
func parseStormOptions(text string) (Conf, error) {
	out := Conf{}
	for part := range strings.SplitSeq(text, ",") {
		option, err := url.QueryUnescape(part)
		if err != nil {
			return nil, err
		}
		k, v, err := ParseOverride(option)
		if err != nil {
			return nil, err
		}
		out[k] = v
	}
	return out, nil
}

func TestPaths(t *testing.T) {
	t.Parallel()
	relative := Conf{StormLocalDir: "data", BlobstoreDir: "blobs", StormLogDir: "/var/log/storm", StormWorkersArtifactsDir: "art"}
	absolute := Conf{StormLocalDir: "/d/", BlobstoreDir: "/b", StormWorkersArtifactsDir: "/art"}
	for _, c := range []struct {
		name string
		f    func(Conf, string) string
		want [3]string // of an empty conf, relative folders, absolute folders
	}{
		{"LocalDir", LocalDir, [3]string{"/h/storm-local", "/h/data", "/d"}},
		{"BlobRoot", BlobRoot, [3]string{"/h/storm-local", "/h/blobs", "/b"}},
		{"LogDir", LogDir, [3]string{"/h/logs", "/var/log/storm", "/h/logs"}},
		{"ArtifactsDir", ArtifactsDir, [3]string{"/h/logs/workers-artifacts", "/var/log/storm/art", "/art"}},
	} {
		have := [3]string{c.f(Conf{}, "/h"), c.f(relative, "/h"), c.f(absolute, "/h")}
		if d := cmp.Diff(c.want, have); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	in := Conf{
		StormZookeeperAuthPayload: "u:p", StormZookeeperTopologyAuthPayload: "u:p", StormZookeeperTopologyAuthScheme: "digest",
		UiHttpsKeystorePassword: int64(1234), DrpcHttpsKeyPassword: nil, NimbusThriftTlsServerKeystorePassword: "x",
		"my.api.token": "x", "my.map": map[string]any{"password": "x", "user": "u"}, "my.list": []any{map[string]any{"secret": []any{"x"}}},
		TopologyEnvironment: map[string]any{"AWS_SECRET_ACCESS_KEY": "x", "PATH": "/bin"},
		WorkerChildopts:     `-Xmx1g -Djavax.net.ssl.keyStorePassword=abc -Da.b="c d"`, "jdbc": "jdbc:x://u:pw@host/db?token=abc&a=1",
		TaskCredentialsPollSecs: int64(30), TopologyAutoCredentials: []any{"a.B"}, NimbusSeeds: []any{"localhost"},
	}
	want := Conf{
		StormZookeeperAuthPayload: "*****", StormZookeeperTopologyAuthPayload: "*****", StormZookeeperTopologyAuthScheme: "*****",
		UiHttpsKeystorePassword: "*****", DrpcHttpsKeyPassword: nil, NimbusThriftTlsServerKeystorePassword: "*****",
		"my.api.token": "*****", "my.map": map[string]any{"password": "*****", "user": "u"},
		"my.list":           []any{map[string]any{"secret": "*****"}},
		TopologyEnvironment: map[string]any{"AWS_SECRET_ACCESS_KEY": "*****", "PATH": "/bin"},
		WorkerChildopts:     `-Xmx1g -Djavax.net.ssl.keyStorePassword=***** -Da.b="c d"`, "jdbc": "jdbc:x://u:*****@host/db?token=*****&a=1",
		TaskCredentialsPollSecs: int64(30), TopologyAutoCredentials: []any{"a.B"}, NimbusSeeds: []any{"localhost"},
	}
	before := in.Clone()
	if d := cmp.Diff(want, Redact(in)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(before, in); d != "" {
		t.Errorf("the argument was changed: %s", d)
	}
}

// TestBuiltinHidesNothing makes sure that no default of Storm is taken for a secret: a changed word list would hide harmless keys.
func TestBuiltinHidesNothing(t *testing.T) {
	t.Parallel()
	conf, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(conf, Redact(conf)); d != "" {
		t.Error(d)
	}
}
