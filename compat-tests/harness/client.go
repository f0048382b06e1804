// SPDX-License-Identifier: Apache-2.0

// This file asks Nimbus through Storm's own client, and submits topologies.

package harness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gust-stream/gust/internal/testbed"
)

// answerLimit is longer than the Java client's own retries.
const answerLimit = 2 * time.Minute

// FaultError is an exception that a client saw.
type FaultError struct {
	Class   string `json:"class"`
	Message string `json:"message"`
	// Type is the kind of a TApplicationException, else 0.
	Type  int         `json:"type,omitempty"`
	Cause *FaultError `json:"cause,omitempty"`
}

// Error is the exception's class and text.
func (f *FaultError) Error() string { return f.Class + ": " + f.Message }

// Client is a JVM that asks Nimbus what it is told to ask.
type Client struct {
	mu     sync.Mutex // one question at a time
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan []byte
	errors string
}

// NewClient starts a client of the cluster.
func NewClient(cluster Cluster) (*Client, error) {
	home, err := Home()
	if err != nil {
		return nil, err
	}
	jar, err := Jar()
	if err != nil {
		return nil, err
	}
	s := cluster.Settings()
	argv, err := java(home, s, "96m", "lib-worker", jar, "-Dorg.apache.logging.log4j.level=ERROR", "org.gust.compat.Client")
	if err != nil {
		return nil, err
	}
	c := &Client{lines: make(chan []byte), errors: filepath.Join(s.Dir, "client.err")}
	c.cmd = exec.Command(argv[0], argv[1:]...) //nolint:noctx // it outlives this call; Close ends it
	log, err := os.Create(c.errors)
	if err != nil {
		return nil, fmt.Errorf("start client: %w", err)
	}
	defer func() { _ = log.Close() }() // the child has its own descriptor
	c.cmd.Stderr = log
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start client: %w", err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start client: %w", err)
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start client: %w", err)
	}
	go c.receive(out)
	return c, nil
}

// receive hands on the lines that are answers until the JVM ends.
func (c *Client) receive(out io.Reader) {
	defer close(c.lines)
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		if line := scanner.Bytes(); bytes.HasPrefix(line, []byte("=")) {
			c.lines <- slices.Clone(line[1:])
		}
	}
}

// Ask puts one question and gives the answer as JSON, or a *FaultError. The Java
// class org.gust.compat.Client says which questions there are.
func (c *Client) Ask(ctx context.Context, question ...string) (json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	if _, err := io.WriteString(c.stdin, strings.Join(question, "\t")+"\n"); err != nil {
		return nil, fmt.Errorf("ask %q: %w\n%s", question, err, testbed.Tail(c.errors))
	}
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("ask %q: %w", question, ctx.Err())
	case line, ok := <-c.lines:
		if !ok {
			return nil, fmt.Errorf("ask %q: client ended\n%s", question, testbed.Tail(c.errors))
		}
		var answer struct {
			OK    json.RawMessage `json:"ok"`
			Fault *FaultError     `json:"fault"`
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			return nil, fmt.Errorf("ask %q: %w: %.200s", question, err, line)
		}
		if answer.Fault != nil {
			return nil, answer.Fault
		}
		return answer.OK, nil
	}
}

// Get asks and decodes the answer.
func (c *Client) Get(ctx context.Context, into any, question ...string) error {
	answer, err := c.Ask(ctx, question...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("ask %q: %w: %.200s", question, err, answer)
	}
	return nil
}

// Close ends the client's JVM.
func (c *Client) Close() error {
	_ = c.stdin.Close() // the JVM ends when its input does
	for range c.lines {
		// An answer that nobody waits for any more.
	}
	return c.cmd.Wait()
}

// Submission is one run of a main class, as `storm jar` runs it.
type Submission struct {
	Jar  string // the JAR that is sent along; "" means the topologies' own
	Main string
	Args []string
	// Conf is handed over as -c of storm jar is: it wins over storm.yaml.
	Conf map[string]string
	// Path is a JAR for the class path, if not the one that is sent along.
	Path string
}

// Submit runs a main class in a JVM of its own and gives what it printed. A
// JVM that ends with another status than 0 is an error with its output.
func Submit(ctx context.Context, cluster Cluster, sub Submission) (string, error) {
	home, err := Home()
	if err != nil {
		return "", err
	}
	if sub.Jar == "" {
		if sub.Jar, err = Jar(); err != nil {
			return "", err
		}
	}
	if sub.Path == "" {
		sub.Path = sub.Jar
	}
	options := make([]string, 0, len(sub.Conf))
	for key, value := range sub.Conf {
		options = append(options, key+"="+url.QueryEscape(value))
	}
	slices.Sort(options)
	more := append([]string{
		"-Dorg.apache.logging.log4j.level=ERROR",
		"-Dstorm.jar=" + sub.Jar, "-Dstorm.options=" + strings.Join(options, ","), "-Dstorm.conf.file=",
		"-Dstorm.dependency.jars=", "-Dstorm.dependency.artifacts={}", sub.Main,
	}, sub.Args...)
	argv, err := java(home, cluster.Settings(), "128m", "lib-worker", sub.Path, more...)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("run %s: %w\n%s", sub.Main, errors.Join(err, ctx.Err()), out.String())
	}
	return out.String(), nil
}
