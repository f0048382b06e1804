// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file lets the test binary play two other programs: a worker (in place of java) and a supervisor to be killed.

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/thrift/storm"
)

const (
	// playEnv names the program that the test binary plays.
	playEnv = "GUST_TEST_PLAY"
	// playDir is the folder of files that tell a played worker what to do.
	playDir = "GUST_TEST_DIR"
)

func TestMain(m *testing.M) {
	switch os.Getenv(playEnv) {
	case "worker":
		playWorker(os.Args[1:])
	case "supervisor":
		playSupervisor(os.Args[1])
	default:
		goleak.VerifyTestMain(m)
	}
}

// playWorker does what a supervisor sees of a Java worker: it writes its pid and heartbeats. Files in playDir change that:
// die ends it at once, mute keeps it from heartbeating, stubborn makes it deaf to SIGTERM, child gives it a child.
func playWorker(args []string) {
	told := func(what string) bool {
		_, err := os.Stat(filepath.Join(os.Getenv(playDir), what))
		return err == nil
	}
	if told("die") {
		os.Exit(3) //nolint:forbidigo // it plays a program
	}
	if slices.Contains(args, "org.gust.launcher.Twin") {
		playTwin(told)
	}
	if told("stubborn") {
		signal.Ignore(syscall.SIGTERM)
	}
	if told("child") {
		must(exec.Command("sleep", "1000").Start())
	}
	layout := localstate.Layout{Local: property(args, "storm.local.dir")}
	topologyID, port, workerID := args[len(args)-5], args[len(args)-2], args[len(args)-1]
	pid := strconv.Itoa(os.Getpid())
	must(os.WriteFile(filepath.Join(layout.WorkerPids(workerID), pid), nil, 0o600))
	must(os.WriteFile(filepath.Join(layout.Worker(workerID), "artifacts", "worker.pid"), []byte(pid), 0o600))
	number, err := strconv.Atoi(port)
	must(err)
	store := localstate.New(layout.WorkerHeartbeats(workerID), time.Now, zap.NewNop())
	for {
		if !told("mute") {
			must(store.Update(func(r *localstate.Records) error {
				return r.Put(localstate.KeyWorkerHeartbeat, &storm.LSWorkerHeartbeat{
					TimeSecs: int32(time.Now().Unix()), TopologyID: topologyID, Port: int32(number),
					Executors: []*storm.ExecutorInfo{{TaskStart: 1, TaskEnd: 1}},
				})
			}))
		}
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // a worker's own clock
	}
}

// playTwin stands by as launcher/Twin.java does. Files in playDir change that: barren ends it at once, deaf keeps it from
// answering.
func playTwin(told func(string) bool) {
	if told("barren") {
		os.Exit(3) //nolint:forbidigo // it plays a program
	}
	_, err := os.Stdin.WriteString("uw")
	must(err)
	word := make([]byte, 1)
	if _, err := os.Stdin.Read(word); err != nil {
		os.Exit(0) //nolint:forbidigo // it plays a program
	}
	for told("deaf") {
		time.Sleep(time.Millisecond) //nolint:forbidigo // it plays a program that is stuck
	}
	_, err = os.Stdin.WriteString("b")
	must(err)
}

func property(args []string, name string) string {
	for _, arg := range args {
		if value, ok := strings.CutPrefix(arg, "-D"+name+"="); ok {
			return value
		}
	}
	return ""
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "played program:", err)
		os.Exit(2) //nolint:forbidigo // it plays a program
	}
}

// playSupervisor runs a supervisor over the site that its argument describes, until it is killed.
func playSupervisor(description string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, closeState, err := openSite(ctx, description)
	must(err)
	defer closeState()
	must(s.Run(ctx))
}
