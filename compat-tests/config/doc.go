// SPDX-License-Identifier: Apache-2.0

// Package config compares gust's reading and checking of configurations with Storm's own classes: the same question to both, the
// answers must be the same to the letter. It also records Storm's answers for the tests of the config package itself, which run
// without Java. It is not for import.
package config
