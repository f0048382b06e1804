// SPDX-License-Identifier: Apache-2.0

// What a submission may not be, beyond the rules for single keys and for the structure of a topology.

package nimbus

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/nimbus/blobstore"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology"
)

func initialStatus(asked storm.TopologyInitialStatus) (storm.TopologyStatus, error) {
	switch asked {
	case storm.TopologyInitialStatus_ACTIVE:
		return storm.TopologyStatus_ACTIVE, nil
	case storm.TopologyInitialStatus_INACTIVE:
		return storm.TopologyStatus_INACTIVE, nil
	default:
		return 0, invalid("Initial status %d is not allowed", int64(asked))
	}
}

// checkName refuses what no topology can be called: by Storm's rule, and because blobs, folders and znodes are called after it. Storm
// finds the latter only when it stores the topology, and then says no more than that something went wrong.
func checkName(name string) error {
	if err := topology.CheckName(name); err != nil {
		return err
	}
	longest := codeKey(newTopologyID(name, math.MaxInt32, time.Unix(math.MaxInt32, 0)))
	if err := blobstore.CheckKey(longest); err != nil {
		return invalid("Topology name '%s' is not valid. It is part of the names of blobs: %v", strings.ToValidUTF8(name, "?"), err)
	}
	return nil
}

// checkSubmitted refuses what the submitted conf and topology cannot be, before anything is made of them.
func (n *Nimbus) checkSubmitted(submitted config.Conf, topo *storm.StormTopology) error {
	if topo == nil {
		return invalid("The topology is missing")
	}
	if err := cmp.Or(config.ValidateTopology(submitted), config.ValidateOwn(submitted)); err != nil {
		return asInvalid(err)
	}
	return n.checkWhole(submitted, topo)
}

// checkWhole refuses what conf and topology cannot be together.
func (n *Nimbus) checkWhole(submitted config.Conf, topo *storm.StormTopology) error {
	if n.cfg.Conf.Bool(config.StormDisableSymlinks, false) && len(blobMap(submitted)) > 0 {
		return invalid("symlinks are disabled so blobs are not supported but %s is set", config.TopologyBlobstoreMap)
	}
	if err := checkClasses(submitted); err != nil {
		return err
	}
	if err := topology.CheckHeap(submitted, n.cfg.Conf, topo); err != nil {
		return asInvalid(err)
	}
	if err := n.checkBlobs(submitted, topo); err != nil {
		return err
	}
	return checkVersion(topo, n.cfg.Version)
}

// checkClasses refuses a scheduling strategy that nobody knows: it would otherwise be a class name of the caller's choice.
func checkClasses(submitted config.Conf) error {
	name := submitted.String(config.TopologySchedulerStrategy, "")
	if name != "" && !slices.Contains(config.KnownClasses(config.TopologySchedulerStrategy), name) {
		return invalid("%s '%s' is not a known strategy", config.TopologySchedulerStrategy, name)
	}
	return nil
}

// checkBlobs wants every blob that the topology names to be there, and local names that stay in the worker's directory.
func (n *Nimbus) checkBlobs(submitted config.Conf, topo *storm.StormTopology) error {
	for key, options := range blobMap(submitted) {
		if !n.blobs.Has(key) {
			return invalid("Key not found: %s", key)
		}
		local := key
		if m, ok := options.(map[string]any); ok {
			local = config.Conf(m).String("localname", key)
		}
		if local == "" || local == "." || !filepath.IsLocal(local) || strings.ContainsAny(local, "/\\\x00") {
			return invalid("The local name '%s' of blob %s in %s is not a plain file name", local, key, config.TopologyBlobstoreMap)
		}
	}
	for _, list := range [][]string{topo.DependencyJars, topo.DependencyArtifacts} {
		for _, key := range list {
			if !n.blobs.Has(key) {
				return invalid("Key not found: %s", key)
			}
		}
	}
	return nil
}

func blobMap(conf config.Conf) map[string]any { return conf.Map(config.TopologyBlobstoreMap) }

// checkVersion refuses a topology that was built for another major release of Storm: its workers could not run it.
func checkVersion(topo *storm.StormTopology, own string) error {
	major := func(v string) string { m, _, _ := strings.Cut(v, "."); return m }
	if v := topo.GetStormVersion(); v != "" && major(v) != major(own) {
		return invalid("Topology submitted with storm version %s but could not find a configured compatible version to use [%s]", v, own)
	}
	return nil
}
