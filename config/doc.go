// SPDX-License-Identifier: Apache-2.0

// Package config reads and checks the configuration of a Storm cluster: storm.yaml, the defaults of the Storm release in use,
// values given on the command line, and gust's own keys.
//
// [Conf] is a plain map of key to value, because a topology's conf may hold keys that nobody but the topology knows. Everything
// that Storm has a key for uses Storm's key; what gust adds is named gust.*. The one table of keys is keys.yaml (facts read from
// Storm's JARs) with gust.yaml (gust's keys and the sentences of the reference page); keys_gen.go and docs/config.md are made from
// the two by "go run ./config/gen". There is a constant for each key, its name in camel case: [NimbusThriftPort] is
// "nimbus.thrift.port".
//
// [Load] merges defaults and files, [Validate] and [ValidateTopology] report faults in Storm's own words, [Redact] takes secrets
// out before a conf is shown to anybody, and the functions of paths.go say where on disk things lie.
//
// It stands for org.apache.storm.Config and DaemonConfig, ConfigValidation, ConfigUtils, ObjectReader and the reading half of
// Utils. It is not a place for settings structs: each package takes its own small Config, filled from a Conf by cmd/gust.
// It starts nothing, keeps no state and logs nothing. The daemons, the CLI and the submit path of Nimbus call it.
package config
