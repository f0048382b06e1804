// SPDX-License-Identifier: Apache-2.0

package nimbus_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/nimbus/nimbustest"
	"github.com/gust-stream/gust/thrift/storm"
)

// refusal is a submission that must fail, and what the text of the exception must hold.
type refusal struct {
	name, conf, jar string
	change          func(*storm.StormTopology)
	want            string
}

func refusals(good, local string) map[string]refusal {
	common := func(t *storm.StormTopology, id string) *storm.ComponentCommon { return t.Bolts[id].Common }
	input := func(component, stream string, g *storm.Grouping) func(*storm.StormTopology) {
		return func(t *storm.StormTopology) {
			common(t, "count").Inputs = map[*storm.GlobalStreamId]*storm.Grouping{{ComponentId: component, StreamId: stream}: g}
		}
	}
	shuffle := &storm.Grouping{Shuffle: &storm.NullStruct{}}
	version, three := "3.0.0", "1.2.3"
	return map[string]refusal{
		"Name":             {name: "a/b", want: `Topology name 'a/b' is not valid. It can't be null and it must match ^[^/.:\\]+$`},
		"EmptyName":        {name: "", want: "Topology name '' is not valid"},
		"TabInName":        {name: "a\tb", want: "Topology name 'a\tb' is not valid"},
		"StarInName":       {name: "a*b", want: `Topology name 'a*b' is not valid`},
		"NameNotText":      {name: "a\xffb", want: `Topology name 'a?b' is not valid`},
		"NameNoZNode":      {name: "𠀀", want: `Topology name '𠀀' is not valid`},
		"LongName":         {name: strings.Repeat("n", 230), want: "more than 250"},
		"DeepConf":         {conf: `{"x":` + strings.Repeat("[", 400) + strings.Repeat("]", 400) + "}", want: "nested deeper than 400"},
		"ConfNotJSON":      {conf: "{", want: "conf of topology"},
		"ConfNoObject":     {conf: "[1]", want: "conf of topology"},
		"GustChoice":       {conf: `{"gust.multilang.stray.output": "drop"}`, want: "Field gust.multilang.stray.output is not an accepted value. Value: drop"},
		"GustKey":          {conf: `{"gust.multilang.message.max.bytes": "much"}`, want: "Field gust.multilang.message.max.bytes must be an Integer"},
		"ConfValue":        {conf: `{"topology.workers":-1}`, want: "Field TOPOLOGY_WORKERS must be a Positive Number"},
		"UnknownComponent": {change: input("nobody", "default", shuffle), want: "[nobody]"},
		"UnknownStream":    {change: input("split", "other", shuffle), want: "[other]"},
		"UnknownField":     {change: input("split", "default", &storm.Grouping{Fields: []string{"nofield"}}), want: "nofield"},
		"ReservedID":       {change: func(t *storm.StormTopology) { t.Bolts["__mine"] = t.Bolts["count"] }, want: "__mine"},
		"ComponentConf": {change: func(t *storm.StormTopology) {
			text := "{no"
			common(t, "count").JSONConf = &text
		}, want: "[count]"},
		"TooMuchHeap": {change: func(t *storm.StormTopology) {
			text := `{"topology.component.resources.onheap.memory.mb":4096}`
			common(t, "count").JSONConf = &text
		}, want: "TOPOLOGY_WORKER_MAX_HEAP_SIZE_MB"},
		"OtherMajorVersion": {change: func(t *storm.StormTopology) { t.StormVersion = &version }, want: "storm version 3.0.0"},
		"OldMajorVersion":   {change: func(t *storm.StormTopology) { t.StormVersion = &three }, want: "storm version 1.2.3"},
		"Strategy":          {conf: `{"topology.scheduler.strategy":"com.evil.Strategy"}`, want: "com.evil.Strategy"},
		"BlobMissing":       {conf: `{"topology.blobstore.map":{"nokey":{}}}`, want: "Key not found: nokey"},
		"DependencyMissing": {change: func(t *storm.StormTopology) { t.DependencyJars = []string{"dep-x"} }, want: "Key not found: dep-x"},
		"JarMissing":        {jar: good + ".not", want: good + ".not"},
		"JarEmpty":          {jar: "-", want: "JAR"},
		"JarOutside":        {jar: "/etc/passwd", want: "/etc/passwd"},
		"JarClimbs":         {jar: filepath.Dir(good) + "/../../../../../../../../etc/passwd", want: "not in the inbox"},
		"JarLink":           {jar: filepath.Join(filepath.Dir(good), "link.jar"), want: "not in the inbox"},
		"JarFolder":         {jar: filepath.Dir(good), want: "inbox"},
		"JarInStore":        {jar: filepath.Join(local, "secret"), want: "not in the inbox"},
	}
}

func TestRefusedSubmits(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{})
	c := site.Client(t)
	good := nimbustest.Upload(t, c)
	local := site.Conf.String(config.StormLocalDir, "")
	if err := os.WriteFile(filepath.Join(local, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(filepath.Dir(good), "link.jar")); err != nil {
		t.Fatal(err)
	}
	for title, r := range refusals(good, local) {
		t.Run(title, func(t *testing.T) {
			topology := nimbustest.WordCount(1, 1, 1)
			if r.change != nil {
				r.change(topology)
			}
			name, conf, jar := "wc", "{}", good
			if r.name != "" || title == "EmptyName" {
				name = r.name
			}
			if r.conf != "" {
				conf = r.conf
			}
			switch r.jar {
			case "":
			case "-":
				jar = ""
			default:
				jar = r.jar
			}
			err := c.SubmitTopology(t.Context(), name, jar, conf, topology)
			refused, ok := errors.AsType[*storm.InvalidTopologyException](err)
			if !ok || !strings.Contains(refused.Msg, r.want) {
				t.Errorf("submit says %v, want an InvalidTopologyException with %q", err, r.want)
			}
		})
	}
	nothingStored(t, site, c)
}

// nothingStored checks that refused submits left nothing behind.
func nothingStored(t *testing.T, site *nimbustest.Site, c *storm.NimbusClient) {
	t.Helper()
	if ids, err := site.State.Storms(t.Context()); err != nil || len(ids) != 0 {
		t.Errorf("stored topologies are %v, %v", ids, err)
	}
	if ids, err := site.State.WorkerBeatTopologies(t.Context()); err != nil || len(ids) != 0 {
		t.Errorf("places for heartbeats are %v, %v", ids, err)
	}
	keys, err := c.ListBlobs(t.Context(), "")
	if err != nil || len(keys.Keys) != 0 {
		t.Errorf("stored blobs are %v, %v", keys, err)
	}
	if announced, err := site.State.BlobKeys(t.Context()); err != nil || len(announced) != 0 {
		t.Errorf("announced blobs are %v, %v", announced, err)
	}
}

func TestBlobMapNames(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{})
	c := site.Client(t)
	putBlob(t, c, "words", "a b c")
	location := nimbustest.Upload(t, c)
	for _, local := range []string{"../x", "/etc/x", "a/b", "..", ".", `a\\b`} {
		conf := `{"topology.blobstore.map":{"words":{"localname":"` + local + `"}}}`
		err := c.SubmitTopology(t.Context(), "wc", location, conf, nimbustest.WordCount(1, 1, 1))
		if _, ok := errors.AsType[*storm.InvalidTopologyException](err); !ok {
			t.Errorf("local name %q: submit says %v", local, err)
		}
	}
	conf := `{"topology.blobstore.map":{"words":{"localname":"words.txt"}}}`
	if err := c.SubmitTopology(t.Context(), "wc", location, conf, nimbustest.WordCount(1, 1, 1)); err != nil {
		t.Fatal(err)
	}
	err := c.DeleteBlob(t.Context(), "words")
	if _, ok := errors.AsType[*storm.IllegalStateException](err); !ok {
		t.Errorf("delete of a blob that a topology uses says %v", err)
	}
}

func TestOneOfTwoSubmitsWins(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{})
	const clients = 8
	var wins, losses int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range clients {
		c := site.Client(t)
		location := nimbustest.Upload(t, c)
		all.Go(func() {
			err := c.SubmitTopology(t.Context(), "wc", location, "{}", nimbustest.WordCount(1, 1, 1))
			mu.Lock()
			defer mu.Unlock()
			if taken, ok := errors.AsType[*storm.AlreadyAliveException](err); ok && taken.Msg == "wc is already alive" {
				losses++
			} else if err == nil {
				wins++
			} else {
				t.Errorf("submit says %v", err)
			}
		})
	}
	all.Wait()
	if wins != 1 || losses != clients-1 {
		t.Errorf("%d submits won and %d lost", wins, losses)
	}
	if ids, err := site.State.Storms(t.Context()); err != nil || len(ids) != 1 {
		t.Errorf("stored topologies are %v, %v", ids, err)
	}
}

func TestSecretsStay(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{Conf: config.Conf{
		"storm.zookeeper.topology.auth.payload": "hush-1", "ui.https.keystore.password": "hush-2",
	}})
	c := site.Client(t)
	id := nimbustest.Submit(t, c, "wc", config.Conf{"my.api.token": "hush-3", "my.password": "hush-4"}, nimbustest.WordCount(1, 1, 1))
	nimbusConf, err := c.GetNimbusConf(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conf, err := c.GetTopologyConf(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	page, err := c.GetTopologyPageInfo(t.Context(), id, ":all-time", true)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"nimbus conf": nimbusConf, "topology conf": conf, "page": page.GetTopologyConf()} {
		if strings.Contains(text, "hush-") {
			t.Errorf("%s shows a secret", what)
		}
		if !strings.Contains(text, config.TopologyWorkers) {
			t.Errorf("%s is no conf", what)
		}
	}
}
