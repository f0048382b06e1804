// SPDX-License-Identifier: Apache-2.0

// This file is "gust submit": a topology goes to Nimbus without Java.

package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/leader"
	"github.com/gust-stream/gust/thrift/storm"
)

// chunk is how many bytes of a JAR go in one call: what Storm's clients send, and well below its limit of a frame.
const chunk = 307200

func newSubmit() *cobra.Command {
	var s settings
	var from source
	var inactive, dryRun bool
	cmd := &cobra.Command{
		Use:   "submit FILE",
		Short: "Submit a topology of a YAML file or of a Go program, without Java",
		Long: "Submits a topology of shell components that a YAML file describes, in Flux's format or in a shorter one, or of a program that was\n" +
			"built with gust's Go SDK. The folder of resources, with the scripts that the components run, goes with it.\n\n" +
			"-c sets values of the topology's conf, and tells where Nimbus is.",
		Example: "  gust submit words.yaml\n" +
			"  gust submit words.yaml --name words2 --resources scripts -c topology.workers=2\n" +
			"  gust submit words.yaml --filter dev.properties --env-filter --dry-run\n" +
			"  gust submit ./wordcount",
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			from.file = args[0]
			overrides, err := config.ParseOverrides(s.options)
			if err != nil {
				return usageError{err}
			}
			d, err := from.read(cmd.Context(), overrides)
			if err != nil {
				return err
			}
			for _, warning := range d.warnings {
				fmt.Fprintln(cmd.ErrOrStderr(), "warning:", warning)
			}
			if dryRun {
				return s.explainFile(cmd, d)
			}
			return s.submit(cmd, d, inactive)
		},
	}
	s.register(cmd)
	s.registerJSON(cmd)
	from.register(cmd)
	cmd.Flags().BoolVarP(&inactive, "inactive", "i", false, "let the spouts wait until the topology is activated")
	cmd.Flags().BoolVarP(&dryRun, "dry-run", "d", false, "check the topology and show where its components would run, but submit nothing")
	return cmd
}

// submitted is what is printed about a topology that was taken.
type submitted struct {
	packed

	Name string `json:"name"`
	ID   string `json:"id"`
}

func (s *settings) submit(cmd *cobra.Command, d *described, inactive bool) error {
	ctx := cmd.Context()
	conf, _, err := s.load()
	if err != nil {
		return err
	}
	if err := topologySecret(conf, d.conf); err != nil {
		return err
	}
	nimbus, err := dialNimbus(ctx, conf)
	if err != nil {
		return err
	}
	defer hangUp(nimbus)
	if ok, err := nimbus.IsTopologyNameAllowed(ctx, d.name); err != nil {
		return explain(err)
	} else if !ok {
		return fmt.Errorf("a topology named %s cannot be submitted: there is one, or that is no name", d.name)
	}
	jar, err := os.CreateTemp("", "gust-submit-*.jar")
	if err != nil {
		return fmt.Errorf("pack the resources: %w", err)
	}
	defer os.Remove(jar.Name()) //nolint:errcheck // a file in the system's own place for temporary files
	defer jar.Close()           //nolint:errcheck // it was read to its end or is given up
	done := submitted{Name: d.name}
	if done.packed, err = d.pack(jar); err != nil {
		return err
	}
	progress := io.Discard
	if !s.json {
		progress = cmd.ErrOrStderr()
	}
	location, err := upload(ctx, nimbus, jar, progress)
	if err != nil {
		return err
	}
	text, err := d.conf.JSON()
	if err != nil {
		return fmt.Errorf("conf of the topology: %w", err)
	}
	status := storm.TopologyInitialStatus_ACTIVE
	if inactive {
		status = storm.TopologyInitialStatus_INACTIVE
	}
	err = nimbus.SubmitTopologyWithOpts(ctx, d.name, location, string(text), d.topology, &storm.SubmitOptions{InitialStatus: status})
	if err != nil {
		return explain(err)
	}
	if done.ID, err = topologyID(ctx, nimbus, d.name); err != nil {
		return err
	}
	if s.json {
		return printJSON(cmd.OutOrStdout(), done)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "Submitted topology: %s (%s, %d files, %d bytes)\n", done.Name, done.ID, done.Files, done.Bytes)
	return err
}

// upload sends a file to Nimbus and gives the name that Nimbus knows it by.
func upload(ctx context.Context, nimbus *leader.Nimbus, file *os.File, progress io.Writer) (string, error) {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return "", fmt.Errorf("upload the resources: %w", err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("upload the resources: %w", err)
	}
	location, err := nimbus.BeginFileUpload(ctx)
	if err != nil {
		return "", explain(err)
	}
	buffer, tenths := make([]byte, chunk), int64(0)
	for sent := int64(0); ; {
		n, err := io.ReadFull(file, buffer)
		if n > 0 {
			if err := nimbus.UploadChunk(ctx, location, buffer[:n]); err != nil {
				return "", fmt.Errorf("upload the resources: %w", explain(err))
			}
			sent += int64(n)
			if part := sent * 10 / size; size > 20*chunk && part > tenths {
				tenths = part
				fmt.Fprintf(progress, "uploaded %d of %d kB\n", sent/1024, size/1024)
			}
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			break
		}
		if err != nil {
			return "", fmt.Errorf("upload the resources: %w", err)
		}
	}
	if err := nimbus.FinishFileUpload(ctx, location); err != nil {
		return "", fmt.Errorf("upload the resources: %w", explain(err))
	}
	return location, nil
}

func topologyID(ctx context.Context, nimbus *leader.Nimbus, name string) (string, error) {
	summary, err := nimbus.GetTopologySummaryByName(ctx, name)
	if err != nil {
		return "", explain(err)
	}
	return summary.ID, nil
}

// topologySecret gives the topology its credentials for the cluster state, as every client of Storm does: the ones of the conf if they are
// usable, else new ones.
func topologySecret(client, topology config.Conf) error {
	merged := config.Merge(client, topology)
	payload := merged.String(config.StormZookeeperTopologyAuthPayload, "")
	if !regexp.MustCompile(`^\S+:\S+$`).MatchString(payload) {
		var random [16]byte
		if _, err := rand.Read(random[:]); err != nil {
			return fmt.Errorf("make the topology's secret: %w", err)
		}
		payload = fmt.Sprintf("%d:%d", int64(binary.BigEndian.Uint64(random[:8])), int64(binary.BigEndian.Uint64(random[8:]))) //nolint:gosec // bits
	}
	topology[config.StormZookeeperTopologyAuthPayload] = payload
	topology[config.StormZookeeperTopologyAuthScheme] = "digest"
	return nil
}
