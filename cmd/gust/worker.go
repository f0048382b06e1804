// SPDX-License-Identifier: Apache-2.0

// This file is "gust worker", which supervisors start.

package main

import (
	"github.com/spf13/cobra"

	"github.com/gust-stream/gust/worker"
)

func newWorker() *cobra.Command {
	return &cobra.Command{
		Use:   "worker " + worker.Usage,
		Short: "Run the Go worker of one slot (supervisors start it)",
		Long: "Runs executors of a topology without a JVM. A supervisor starts it in the folder of a worker, with the arguments of a Java\n" +
			"worker, for the slots whose components run on Go.",
		Example: "  gust worker words-1-1796000000 5f0c1d-10.0.0.7 6628 6700 8a1d7c52",
		Hidden:  true,
		Args:    usage(cobra.ExactArgs(5)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if code := worker.Main(cmd.Context(), args, worker.Executors(nil)); code != 0 {
				return exitError(code)
			}
			return nil
		},
	}
}
