// SPDX-License-Identifier: Apache-2.0

// The settings of Nimbus, and how they are read from a conf.

package nimbus

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/nimbus/scheduler"
	"github.com/gust-stream/gust/thrift/rpc"
)

// Config is what Nimbus is told at its start. ConfigFrom fills it.
type Config struct {
	// Conf is the daemon's whole conf: it lies below the conf of every topology.
	Conf config.Conf
	// Host is the name under which clients reach this Nimbus; it should equal the entry in their nimbus.seeds.
	Host string
	// Server holds the address and the limits of the Thrift server. With port 0 the system chooses.
	Server rpc.Config
	// TLSPort is what clients are told of a TLS port (nimbus.thrift.tls.port); 0 is none. Nothing listens on it yet.
	TLSPort int
	// LocalDir is the absolute folder of this Nimbus: inbox and history lie in it.
	LocalDir string
	// User is the operating system's user: the owner of topologies as long as callers have no names.
	User string
	// Version is the Storm release that this Nimbus says it is.
	Version string
	// Scheduler is the scheduling strategy.
	Scheduler scheduler.Kind
	// Blacklist says when supervisors are kept out.
	Blacklist scheduler.BlacklistLimits
	// EnforceACL makes the access lists of blobs count.
	EnforceACL bool

	// Detection is the silence after which a supervisor whose workers are silent too is lost.
	Detection time.Duration
	// TaskTimeout is the silence after which an executor is dead.
	TaskTimeout time.Duration
	// LaunchTimeout is how long an executor may take until its first heartbeat.
	LaunchTimeout time.Duration
	// RecoveryTimeout is how long after a start the executors of a registered supervisor that says nothing count as alive.
	RecoveryTimeout time.Duration
	// MonitorEvery is the time between two passes that nothing called for.
	MonitorEvery time.Duration
	// InboxEvery and InboxKeep are how often old JARs are looked for, and from which age they go.
	InboxEvery, InboxKeep time.Duration
	// SessionTimeout ends uploads, downloads and listings that nobody goes on with.
	SessionTimeout time.Duration
	// BlobDelay is the least time between a topology's end and the removal of its blobs.
	BlobDelay time.Duration
	// HistoryKeep is how long killed topologies stay in the history.
	HistoryKeep time.Duration
}

// sessionTimeout is Storm's nimbus.file.copy.expiration.secs where the conf has none.
const sessionTimeout = 600

// ConfigFrom reads the settings from a conf. stormHome is what relative folders are relative to, stormVersion the release that
// the defaults in conf belong to. listen is the address that the Thrift port binds to, "" for all.
func ConfigFrom(conf config.Conf, stormHome, stormVersion, listen string) (Config, error) {
	kind, err := scheduler.ParseKind(conf.String(config.StormScheduler, ""))
	if err := errors.Join(err, checkPlugins(conf)); err != nil {
		return Config{}, fmt.Errorf("nimbus: %w", err)
	}
	dir, err := filepath.Abs(config.LocalDir(conf, stormHome))
	if err != nil {
		return Config{}, fmt.Errorf("nimbus: %s: %w", config.StormLocalDir, err)
	}
	host := conf.String(config.StormLocalHostname, "")
	if host == "" {
		if host, err = os.Hostname(); err != nil {
			return Config{}, fmt.Errorf("nimbus: find the host name: %w", err)
		}
	}
	name := ""
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	secs := func(key string, def int64) time.Duration { return time.Duration(conf.Int(key, def)) * time.Second }
	limits := scheduler.DefaultBlacklistLimits()
	limits.Faults = int(conf.Int(config.BlacklistSchedulerToleranceCount, int64(limits.Faults)))
	limits.Window = conf.Int(config.BlacklistSchedulerToleranceTimeSecs, limits.Window)
	limits.Resume = conf.Int(config.BlacklistSchedulerResumeTimeSecs, limits.Resume)
	limits.BadSlots = conf.Bool(config.BlacklistSchedulerAssumeSupervisorBadBasedOnBadSlot, limits.BadSlots)
	return Config{
		Conf:     conf,
		Host:     host,
		LocalDir: dir,
		User:     name,
		TLSPort:  int(conf.Int(config.NimbusThriftTlsPort, 0)),
		Version:  stormVersion,
		Server: rpc.Config{
			Addr:     fmt.Sprintf("%s:%d", listen, conf.Int(config.NimbusThriftPort, 6627)),
			MaxFrame: int(conf.Int(config.NimbusThriftMaxBufferSize, rpc.DefaultMaxFrame)),
			FrameKey: config.NimbusThriftMaxBufferSize,
			Workers:  int(conf.Int(config.NimbusThriftThreads, rpc.DefaultWorkers)),
			QueueLen: int(conf.Int(config.NimbusQueueSize, rpc.DefaultQueueLen)),
		},
		Scheduler:       kind,
		Blacklist:       limits,
		EnforceACL:      conf.Bool(config.StormBlobstoreAclValidationEnabled, false),
		Detection:       secs(config.GustNimbusDetectionTimeoutSecs, 5),
		TaskTimeout:     secs(config.NimbusTaskTimeoutSecs, 30),
		LaunchTimeout:   secs(config.NimbusTaskLaunchSecs, 120),
		RecoveryTimeout: secs(config.SupervisorWorkerHeartbeatsMaxTimeoutSecs, 600),
		MonitorEvery:    secs(config.NimbusMonitorFreqSecs, 10),
		InboxEvery:      secs(config.NimbusCleanupInboxFreqSecs, 600),
		InboxKeep:       secs(config.NimbusInboxJarExpirationSecs, 3600),
		SessionTimeout:  secs(config.NimbusFileCopyExpirationSecs, sessionTimeout),
		BlobDelay:       time.Duration(conf.Int(config.NimbusTopologyBlobstoreDeletionDelayMs, 300_000)) * time.Millisecond,
		HistoryKeep:     time.Duration(conf.Int(config.LogviewerCleanupAgeMins, 10080)) * time.Minute,
	}, nil
}

// checkPlugins refuses classes that this Nimbus does not have an equal for. Going on without them would let through what the cluster's
// owner wants to be refused.
func checkPlugins(conf config.Conf) error {
	var faults []error
	for key, known := range map[string]string{
		config.NimbusAuthorizer:        "org.apache.storm.security.auth.authorizer.NoopAuthorizer",
		config.NimbusTopologyValidator: "org.apache.storm.nimbus.DefaultTopologyValidator",
		config.StormThriftTransport:    "org.apache.storm.security.auth.SimpleTransportPlugin",
	} {
		if class := conf.String(key, ""); class != "" && class != known {
			faults = append(faults, fmt.Errorf("%s: %q is not supported, only %s is", key, class, known))
		}
	}
	return errors.Join(faults...)
}
