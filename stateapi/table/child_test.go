// SPDX-License-Identifier: Apache-2.0

package table

const childDir = "GUST_TABLE_TEST_DIR"

func child(string) {}
