// SPDX-License-Identifier: Apache-2.0

// This file holds the znode paths below the root, and the check that keeps a foreign name from becoming another path.

package cluster

import (
	"fmt"
	"net/url"
	"strings"
)

// The children of the root that Storm's processes expect to exist.
const (
	assignmentsDir   = "/assignments"
	stormsDir        = "/storms"
	supervisorsDir   = "/supervisors"
	workerBeatsDir   = "/workerbeats"
	errorsDir        = "/errors"
	blobstoreDir     = "/blobstore"
	blobSequencesDir = "/blobstoremaxkeysequencenumber"
	nimbusesDir      = "/nimbuses"
	logConfigsDir    = "/logconfigs"
	backpressureDir  = "/backpressure"
	credentialsDir   = "/credentials"
	profilerDir      = "/profilerconfigs"
	leaderLockDir    = "/leader-lock"
)

const lastErrorSuffix = "-last-error"

// roots returns the nodes that every Storm process makes when they are missing.
func roots() []string {
	return []string{
		assignmentsDir, stormsDir, supervisorsDir, workerBeatsDir, errorsDir, blobstoreDir, blobSequencesDir, nimbusesDir,
		logConfigsDir, backpressureDir, credentialsDir, profilerDir, leaderLockDir,
	}
}

// child joins a parent path and a name that comes from outside; a name that would leave the parent is an error.
func child(dir, name string) (string, error) {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return "", fmt.Errorf("%q is no name for a child of %s", name, dir)
	}
	return dir + "/" + name, nil
}

// componentNode is the form in which a component id stands in a path: Java's URLEncoder, which differs from Go's in two
// characters.
func componentNode(component string) string {
	return strings.NewReplacer("%2A", "*", "~", "%7E").Replace(url.QueryEscape(component))
}

func errorsPath(topologyID, component string) (string, error) {
	dir, err := child(errorsDir, topologyID)
	if err != nil {
		return "", err
	}
	return child(dir, componentNode(component))
}

func profilePath(topologyID, host string, port int64, action fmt.Stringer) (string, error) {
	dir, err := child(profilerDir, topologyID)
	if err != nil {
		return "", err
	}
	return child(dir, fmt.Sprintf("%s_%d_%s", host, port, action))
}
