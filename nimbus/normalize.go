// SPDX-License-Identifier: Apache-2.0

// The conf that is stored for a topology and handed to its workers.

package nimbus

import (
	"slices"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology"
)

// submission is what Nimbus itself knows of a topology that comes in.
type submission struct {
	id    string
	name  string
	owner string
	// principal is "" as long as callers are not authenticated.
	principal string
}

// savedConf returns the conf that is stored: Nimbus's own below the submitted one, normalized, with the keys replaced or removed that
// a submitter does not decide. The arguments are not changed.
func savedConf(nimbus, submitted config.Conf, topo *storm.StormTopology, sub submission) (config.Conf, error) {
	own, err := topology.NormalizeConf(nimbus, submitted, topo)
	if err != nil {
		return nil, err
	}
	own[config.StormId] = sub.id
	own[config.TopologyName] = sub.name
	own[config.TopologySubmitterPrincipal] = sub.principal
	own[config.TopologySubmitterUser] = sub.owner
	own[config.TopologyUsers] = withUser(own.Strings(config.TopologyUsers), sub.principal)
	own[config.StormZookeeperSuperACL] = nimbus[config.StormZookeeperSuperACL]
	if !zooKeeperSecured(nimbus) {
		delete(own, config.StormZookeeperTopologyAuthScheme)
		delete(own, config.StormZookeeperTopologyAuthPayload)
	}
	if !nimbus.Bool(config.StormTopologyClasspathBeginningEnabled, false) {
		delete(own, config.TopologyClasspathBeginning)
	}
	saved := config.Merge(nimbus, own)
	delete(saved, config.StormLocalHostname)
	return saved, nil
}

// withUser adds the submitter to the users of a topology. Storm adds its null caller when callers are not authenticated, and the
// stored conf then holds [null].
func withUser(users []string, principal string) []any {
	out := make([]any, 0, len(users)+1)
	for _, u := range users {
		if !slices.Contains(out, any(u)) {
			out = append(out, u)
		}
	}
	switch {
	case principal == "":
		out = append(out, nil)
	case !slices.Contains(users, principal):
		out = append(out, principal)
	}
	return out
}

// zooKeeperSecured says whether Nimbus itself authenticates at ZooKeeper, in which case topologies keep their own credentials.
func zooKeeperSecured(nimbus config.Conf) bool {
	return nimbus.String(config.StormZookeeperAuthScheme, "") != ""
}

// logUsers and logGroups are who may see the logs of a topology: logs.users and topology.users, or the same for groups.
func logUsers(conf config.Conf) []string {
	return union(conf.Strings(config.LogsUsers), conf.Strings(config.TopologyUsers))
}

func logGroups(conf config.Conf) []string {
	return union(conf.Strings(config.LogsGroups), conf.Strings(config.TopologyGroups))
}

// union returns the members of both lists, sorted, each once.
func union(a, b []string) []string {
	all := slices.Concat([]string{}, a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
