// SPDX-License-Identifier: Apache-2.0

// Where a cluster's files lie: Storm's rules for relative folders.

package config

import "path/filepath"

// LocalDir is the folder of a daemon's state, storm.local.dir. A relative one lies in the Storm home, not in the working
// directory; unset, it is storm-local there.
func LocalDir(conf Conf, stormHome string) string {
	return within(stormHome, conf.String(StormLocalDir, "storm-local"))
}

// BlobRoot is the folder in which Nimbus keeps its blobs/: blobstore.dir, else the local dir.
func BlobRoot(conf Conf, stormHome string) string {
	if dir := conf.String(BlobstoreDir, ""); dir != "" {
		return within(stormHome, dir)
	}
	return LocalDir(conf, stormHome)
}

// LogDir is the folder of the log files, storm.log.dir; a relative one lies in the working directory of the daemon, as in Storm.
// Unset, it is logs in the Storm home, or without one in the working directory.
func LogDir(conf Conf, stormHome string) string {
	if dir := conf.String(StormLogDir, ""); dir != "" {
		return absolute(dir)
	}
	return absolute(filepath.Join(stormHome, "logs"))
}

// ArtifactsDir is the folder of the workers' artifacts, <topology id>/<port>/ below it: storm.workers.artifacts.dir, relative to
// the log folder.
func ArtifactsDir(conf Conf, stormHome string) string {
	return within(LogDir(conf, stormHome), conf.String(StormWorkersArtifactsDir, "workers-artifacts"))
}

func within(base, dir string) string {
	if filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return filepath.Join(base, dir)
}

// absolute resolves against the working directory; where that cannot be found the path stays relative.
func absolute(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return filepath.Clean(dir)
	}
	return abs
}
