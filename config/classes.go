// SPDX-License-Identifier: Apache-2.0

// Class names in a conf. Where Storm loads whatever class a key names, gust has its own code for the known ones and refuses the
// rest, so that nothing in a conf can name code to run.

package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// classKey is a key whose value names a class that a daemon acts on, and the names that gust has code for.
type classKey struct {
	key    string
	prefix string   // package of the names
	names  []string // without the package
}

// classKeys lists what gust's daemons stand in for. A daemon that learns to act on another class adds it here.
func classKeys() []classKey {
	strategies := []string{
		"DefaultResourceAwareStrategy", "DefaultResourceAwareStrategyOld", "GenericResourceAwareStrategy",
		"GenericResourceAwareStrategyOld", "RoundRobinResourceAwareStrategy", "ConstraintSolverStrategy",
	}
	authorizers := []string{
		"authorizer.SimpleACLAuthorizer", "authorizer.NoopAuthorizer", "authorizer.DenyAuthorizer", "authorizer.ImpersonationAuthorizer",
		"authorizer.SimpleWhitelistAuthorizer", "authorizer.SupervisorSimpleACLAuthorizer",
	}
	const sched, security = "org.apache.storm.scheduler.", "org.apache.storm.security.auth."
	return []classKey{
		{key: StormScheduler, prefix: sched, names: []string{
			"DefaultScheduler", "EvenScheduler", "IsolationScheduler", "resource.ResourceAwareScheduler", "multitenant.MultitenantScheduler",
		}},
		{key: TopologySchedulerStrategy, prefix: sched + "resource.strategies.scheduling.", names: strategies},
		{key: ResourceAwareSchedulerPriorityStrategy, prefix: sched + "resource.strategies.priority.", names: []string{
			"DefaultSchedulingPriorityStrategy", "FIFOSchedulingPriorityStrategy", "GenericResourceAwareSchedulingPriorityStrategy",
		}},
		{key: BlacklistSchedulerStrategy, prefix: sched + "blacklist.strategies.", names: []string{"DefaultBlacklistStrategy", "RasBlacklistStrategy"}},
		{key: BlacklistSchedulerReporter, prefix: sched + "blacklist.reporters.", names: []string{"LogReporter"}},
		{key: StormNetworkTopographyPlugin, prefix: "org.apache.storm.networktopography.", names: []string{"DefaultRackDNSToSwitchMapping"}},
		{key: NimbusTopologyValidator, prefix: "org.apache.storm.nimbus.", names: []string{"DefaultTopologyValidator", "StrictTopologyValidator"}},
		{key: NimbusWorkerHeartbeatsRecoveryStrategyClass, prefix: "org.apache.storm.nimbus.", names: []string{
			"TimeOutWorkerHeartbeatsRecoveryStrategy",
		}},
		{key: NimbusBlobstoreClass, prefix: "org.apache.storm.blobstore.", names: []string{"LocalFsBlobStore"}},
		{key: SupervisorBlobstoreClass, prefix: "org.apache.storm.blobstore.", names: []string{"NimbusBlobStore"}},
		{key: StormClusterStateStore, prefix: "org.apache.storm.cluster.", names: []string{"ZKStateStorageFactory"}},
		{key: StormMetaSerializationDelegate, prefix: "org.apache.storm.serialization.", names: []string{
			"GzipThriftSerializationDelegate", "ThriftSerializationDelegate",
		}},
		{key: NimbusAuthorizer, prefix: security, names: authorizers},
		{key: SupervisorAuthorizer, prefix: security, names: authorizers},
		{key: NimbusImpersonationAuthorizer, prefix: security, names: authorizers},
		{key: StormThriftTransport, prefix: security, names: []string{
			"SimpleTransportPlugin", "digest.DigestSaslTransportPlugin", "plain.PlainSaslTransportPlugin",
			"kerberos.KerberosSaslTransportPlugin", "tls.TlsTransportPlugin",
		}},
		{key: StormPrincipalTolocal, prefix: security, names: []string{"DefaultPrincipalToLocal", "KerberosPrincipalToLocal"}},
		{key: StormGroupMappingService, prefix: security, names: []string{"ShellBasedGroupsMapping", "FixedGroupsMapping"}},
		{key: StormResourceIsolationPlugin, prefix: "org.apache.storm.container.", names: []string{
			"DefaultResourceIsolationManager", "cgroup.CgroupManager",
		}},
	}
}

// ValidateClasses refuses class names in a daemon's conf that gust has no code for. The error joins all of them; each names its
// key, the value and what is known.
func ValidateClasses(conf Conf) error {
	var errs []error
	for _, k := range classKeys() {
		v, ok := conf[k.key]
		if !ok || v == nil || v == "" {
			continue
		}
		class, isString := v.(string)
		// Topologies of Storm before 1.0 name its old packages.
		class = strings.Replace(class, "backtype.storm.", "org.apache.storm.", 1)
		if known := k.classes(); !isString || !slices.Contains(known, class) {
			errs = append(errs, fmt.Errorf("conf key %s: unknown class %s, want one of %s", k.key, show(k.key, v), strings.Join(known, ", ")))
		}
	}
	return errors.Join(errs...)
}

// KnownClasses returns the class names that gust has code for under a key, nil if the key names no class that a daemon acts on.
func KnownClasses(key string) []string {
	for _, k := range classKeys() {
		if k.key == key {
			return k.classes()
		}
	}
	return nil
}

func (k classKey) classes() []string {
	out := make([]string, len(k.names))
	for i, n := range k.names {
		out[i] = k.prefix + n
	}
	return out
}
