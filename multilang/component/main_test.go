// SPDX-License-Identifier: Apache-2.0

package component

// This file tests children that are processes.

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// noisy prints wherever it can and does what words say.
type noisy struct{}

func (noisy) Execute(t *Tuple, out *Output) error {
	v, _ := t.Value("word")
	fmt.Println(`{"command":"ack","id":"77"}` + "\nend") //nolint:forbidigo // what must do no harm
	cmd := exec.Command("sh", "-c", "cat; echo a child of the child")
	cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
	if err := cmd.Run(); err != nil {
		return err
	}
	if v == "panic" {
		panic("as told")
	}
	return out.EmitOn("late", t, v)
}

func (noisy) Next(out *SpoutOutput) error { return out.EmitOn("late", nil, 1) }

func (noisy) Close() error {
	fmt.Fprintln(os.Stderr, "closed")
	return nil
}

// process is the test binary as a component.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	err strings.Builder
}

func run(t *testing.T, kind string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.CommandContext(t.Context(), os.Args[0])}
	p.cmd.Env = append(os.Environ(), asChild+"="+kind)
	p.cmd.Stderr = &p.err
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.send(fmt.Sprintf(handshakeOf, t.TempDir()))
	p.want(fmt.Sprintf(`{"pid":%d}`, p.cmd.Process.Pid))
	return p
}

func (p *process) send(message string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, message+"\nend\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) want(message string) {
	p.t.Helper()
	var lines []string
	for p.out.Scan() && p.out.Text() != "end" {
		lines = append(lines, p.out.Text())
	}
	if got := strings.Join(lines, "\n"); !strings.HasPrefix(got, message) || message == "" && got != "" {
		p.t.Fatalf("got %q, not %q; stderr:\n%s", got, message, p.err.String())
	}
}

// end waits for the process and wants nothing more of it.
func (p *process) end(code int) string {
	p.t.Helper()
	p.want("")
	_ = p.cmd.Wait() // the code says it
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Errorf("exit code %d, not %d", got, code)
	}
	return p.err.String()
}

func TestPrintsGoToStderr(t *testing.T) {
	t.Parallel()
	p := run(t, "bolt")
	p.send(word)
	p.want(`{"command":"emit","stream":"late","anchors":["77"],"need_task_ids":false,"tuple":["gust"]}`)
	if err := p.in.Close(); err != nil {
		t.Fatal(err)
	}
	want := `{"command":"ack","id":"77"}` + "\nend\na child of the child\nclosed\n"
	if got := p.end(0); got != want {
		t.Errorf("stderr %q, not %q", got, want)
	}
}

func TestPanicEndsTheProcess(t *testing.T) {
	t.Parallel()
	p := run(t, "bolt")
	p.send(strings.Replace(word, "gust", "panic", 1))
	p.want(`{"command":"error","msg":"panic: as told\n`)
	if got := p.end(1); !strings.Contains(got, "component.noisy.Execute") {
		t.Errorf("stderr has no stack: %s", got)
	}
}

func TestSignalClosesTheComponent(t *testing.T) {
	t.Parallel()
	p := run(t, "spout")
	p.send(`{"command":"next"}`)
	p.want(`{"command":"emit","stream":"late"`)
	p.want(`{"command":"sync"}`)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := p.end(0); got != "closed\n" {
		t.Errorf("stderr %q", got)
	}
}
