// SPDX-License-Identifier: Apache-2.0

// Package schedulertest makes scheduling cases: generated clusters in a JSON
// form that compat-tests/scheduler hands to Storm's own classes and whose
// answers are recorded in nimbus/scheduler/testdata. It is for tests only and
// stands for no Storm class.
package schedulertest
