// SPDX-License-Identifier: Apache-2.0

// Package storm holds Storm's Thrift structs and services as Go types.
//
// storm.go is generated from thrift/storm.thrift (make gen), which scripts/idl prints from the metadata of a
// storm-client JAR; assignment.go is the one struct that the compiler has no Go form for. The package has no behaviour
// beyond encoding: what the calls mean is in package nimbus and package supervisor. It stands for Storm's
// org.apache.storm.generated and is used by everything that talks to a Storm client, worker or znode.
package storm
