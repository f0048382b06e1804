// SPDX-License-Identifier: Apache-2.0

package multilang

// This file measures a Python child behind the driver, and the same child in a bare pipe: what is between the two is our cost.

import (
	"bufio"
	"bytes"
	"io"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/gust-stream/gust/multilang/codec"
)

const (
	sentence = "the cow jumped over the moon"
	words    = 6
	window   = 100
)

// measure runs n sentences; beside their rate it tells our own work for one, which a busy machine changes little.
func measure(b *testing.B, run func(n int)) {
	b.Helper()
	work := func() (time.Duration, int64) {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano()), u.Nvcsw
	}
	cpu, switches := work()
	b.ResetTimer()
	began := time.Now()
	run(b.N)
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "sentences/s")
	b.StopTimer()
	cpuAfter, switchesAfter := work()
	b.ReportMetric(float64((cpuAfter-cpu).Microseconds())/float64(b.N), "cpu-µs/sentence")
	b.ReportMetric(float64(switchesAfter-switches)/float64(b.N), "switches/sentence")
}

// benchmarkDriver gives a splitter n sentences, each acked, every word answered with its tasks.
func benchmarkDriver(b *testing.B, f codec.Format, command ...string) {
	b.Helper()
	bed, cfg := newBed(b, Settings{Format: f}, command...)
	bed.asBolt(cfg)
	bed.forget = true
	var sent, want, done int
	over := make(chan struct{}, 1)
	bed.work = func() {
		done += len(bed.acked)
		bed.acked = bed.acked[:0]
		for sent < want && bed.bolt.Held() < 2*window && bed.bolt.Room() > 0 {
			bed.bolt.Deliver(bed.tuple(sentence))
			sent++
		}
		bed.bolt.Flush()
		if done == want {
			want = -1
			over <- struct{}{}
		}
	}
	run := func(n int) {
		sent, done, want = 0, 0, n
		bed.work()
		for {
			bed.lease.Unlock()
			select {
			case batch := <-bed.events:
				bed.lease.Lock()
				bed.take(batch)
				if bed.ended != nil {
					b.Fatal(bed.ended)
				}
				bed.work()
			case <-over:
				bed.lease.Lock()
				return
			}
		}
	}
	run(200)
	bed.count = 0
	measure(b, run)
	if bed.count != b.N*words {
		b.Fatalf("%d words of %d sentences", bed.count, b.N)
	}
}

// benchmarkBare does the least that keeps the child going: it looks for a few bytes and writes text made before.
func benchmarkBare(b *testing.B, f codec.Format, command ...string) {
	b.Helper()
	_, cfg := newBed(b, Settings{Format: f}, command...)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = cfg.Dir, cfg.Environ
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	hello, err := codec.Append(nil, f, map[string]any{"conf": cfg.Conf, "pidDir": cfg.PidDir, "context": cfg.Context})
	if err != nil {
		b.Fatal(err)
	}
	_, _ = stdin.Write(codec.End(hello, f))
	number := 0
	message := func(dst []byte) []byte {
		number++
		if f == codec.Msgpack {
			dst, _ = codec.Append(dst, f, map[string]any{"id": strconv.Itoa(number), "comp": "words", "stream": "default", "task": 3, "tuple": []any{sentence}})
			return dst
		}
		return append(strconv.AppendInt(append(dst, `{"id":"`...), int64(number), 10), `","comp":"words","stream":"default","task":3,"tuple":["`+sentence+"\"]}\nend\n"...)
	}
	ids := codec.End([]byte("[7]"), f)
	if f == codec.Msgpack {
		ids = []byte{0x91, 7}
	}
	r := codec.NewReader(stdout, f, 1<<20)
	run := func(n int) {
		sent := min(n, window)
		out := make([]byte, 0, 1<<16)
		for range sent {
			out = message(out)
		}
		writer := bufio.NewWriterSize(stdin, 1<<16)
		_, _ = writer.Write(out)
		for done := 0; done < n; {
			if !r.Ready() {
				_ = writer.Flush()
			}
			raw, err := r.Next()
			if err != nil {
				b.Fatal(err)
			}
			switch head := raw[:min(len(raw), 20)]; {
			case bytes.Contains(head, []byte("emit")):
				_, _ = writer.Write(ids)
			case bytes.Contains(head, []byte("ack")):
				done++
				if sent < n {
					sent++
					_, _ = writer.Write(message(nil))
				}
			}
		}
		_ = writer.Flush()
	}
	run(200)
	measure(b, run)
	_ = stdin.Close()
	_, _ = io.Copy(io.Discard, stdout)
}

func BenchmarkStormPyDriver(b *testing.B) {
	benchmarkDriver(b, codec.JSON, python(b), script(b, "split.py"))
}

func BenchmarkStormPyBare(b *testing.B) {
	benchmarkBare(b, codec.JSON, python(b), script(b, "split.py"))
}

func BenchmarkPystormMsgpackDriver(b *testing.B) {
	benchmarkDriver(b, codec.Msgpack, python(b), script(b, "pystorm_split.py"), "msgpack")
}

func BenchmarkPystormMsgpackBare(b *testing.B) {
	benchmarkBare(b, codec.Msgpack, python(b), script(b, "pystorm_split.py"), "msgpack")
}

func BenchmarkPystormJSONDriver(b *testing.B) {
	benchmarkDriver(b, codec.JSON, python(b), script(b, "pystorm_split.py"), "json")
}

func BenchmarkPystormJSONBare(b *testing.B) {
	benchmarkBare(b, codec.JSON, python(b), script(b, "pystorm_split.py"), "json")
}
