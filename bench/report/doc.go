// SPDX-License-Identifier: Apache-2.0

// Package report turns samples into the table of a bench: medians, ratios, the
// target and whether it is reached, with the machine that all of it is true for.
//
// The main types are Row (what is compared and what is to be reached), Samples
// and Report. It measures nothing.
package report
