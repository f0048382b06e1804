// SPDX-License-Identifier: Apache-2.0

// This file holds the storm commands that change a running topology: rebalance, set_log_level, upload-credentials.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/leader"
	"github.com/gust-stream/gust/thrift/storm"
)

func newRebalance() *cobra.Command {
	var s settings
	var wait, workers int32
	var executors []string
	var resources, overrides string
	cmd := &cobra.Command{
		Use:     "rebalance TOPOLOGY",
		Short:   "Spread a topology anew, with other numbers of workers or executors",
		Example: "  storm rebalance words -w 5 -n 4 -e split=8 -t '{\"topology.max.spout.pending\": 500}'",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			options := storm.NewRebalanceOptions()
			if cmd.Flags().Changed("wait") {
				options.WaitSecs = &wait
			}
			if cmd.Flags().Changed("num-workers") {
				options.NumWorkers = &workers
			}
			if err := rebalanceValues(options, executors, resources, overrides); err != nil {
				return err
			}
			err := s.ask(cmd.Context(), func(n *leader.Nimbus) error { return n.Rebalance(cmd.Context(), args[0], options) })
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "Topology %s is rebalancing\n", args[0])
			return err
		},
	}
	s.register(cmd)
	flags := cmd.Flags()
	flags.Int32VarP(&wait, "wait", "w", 0, "seconds for which the topology pauses first (default its message timeout)")
	flags.Int32VarP(&workers, "num-workers", "n", 0, "new number of workers")
	flags.StringArrayVarP(&executors, "executor", "e", nil, "component=executors; may be repeated")
	flags.StringVarP(&resources, "resources", "r", "", "JSON: component to resource to amount")
	flags.StringVarP(&overrides, "topology-conf", "t", "", "JSON: conf values to change")
	return cmd
}

// rebalanceValues reads the structured flags of "storm rebalance" into the options.
func rebalanceValues(options *storm.RebalanceOptions, executors []string, resources, overrides string) error {
	for _, pair := range executors {
		component, text, ok := strings.Cut(pair, "=")
		number, err := strconv.ParseInt(text, 10, 32)
		if !ok || component == "" || err != nil {
			return usagef("--executor takes component=number, not %q", pair)
		}
		if options.NumExecutors == nil {
			options.NumExecutors = map[string]int32{}
		}
		options.NumExecutors[component] = int32(number)
	}
	if resources != "" {
		if err := json.Unmarshal([]byte(resources), &options.TopologyResourcesOverrides); err != nil {
			return usagef("--resources takes JSON of the form {\"component\": {\"resource\": number}}: %w", err)
		}
	}
	if overrides != "" {
		if _, err := config.ParseJSON([]byte(overrides)); err != nil {
			return usagef("--topology-conf takes a JSON object: %w", err)
		}
		options.TopologyConfOverrides = &overrides
	}
	return nil
}

func newSetLogLevel() *cobra.Command {
	var s settings
	var set, remove []string
	cmd := &cobra.Command{
		Use:     "set_log_level TOPOLOGY",
		Aliases: []string{"set-log-level"},
		Short:   "Change log levels of a running topology",
		Example: "  storm set_log_level -l ROOT=DEBUG:30 -r com.example words",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			levels, err := logLevels(set, remove)
			if err != nil {
				return err
			}
			err = s.ask(cmd.Context(), func(n *leader.Nimbus) error {
				topologies, err := n.GetTopologySummaries(cmd.Context())
				if err != nil {
					return err
				}
				at := slices.IndexFunc(topologies, func(t *storm.TopologySummary) bool { return t.Name == args[0] })
				if at < 0 {
					return fmt.Errorf("%s is not alive", args[0])
				}
				return n.SetLogConfig(cmd.Context(), topologies[at].ID, levels)
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "Log levels sent to topology %s\n", args[0])
			return err
		},
	}
	s.register(cmd)
	cmd.Flags().StringArrayVarP(&set, "log-setting", "l", nil, "logger=LEVEL[:seconds]; may be repeated")
	cmd.Flags().StringArrayVarP(&remove, "remove-log-setting", "r", nil, "logger whose setting ends; may be repeated")
	return cmd
}

// logLevels reads the flags of "storm set_log_level".
func logLevels(set, remove []string) (*storm.LogConfig, error) {
	if len(set)+len(remove) == 0 {
		return nil, usagef("name at least one setting by -l or -r")
	}
	known := []string{"ALL", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF"}
	levels := map[string]*storm.LogLevel{}
	for _, setting := range set {
		name, value, _ := strings.Cut(setting, "=")
		level, timeout, timed := strings.Cut(value, ":")
		var seconds int64
		var err error
		if timed {
			seconds, err = strconv.ParseInt(timeout, 10, 32)
		}
		if name == "" || !slices.Contains(known, level) || err != nil || seconds < 0 {
			return nil, usagef("--log-setting takes logger=LEVEL[:seconds] with a level of %v, not %q", known, setting)
		}
		short := int32(seconds)
		levels[name] = &storm.LogLevel{Action: storm.LogLevelAction_UPDATE, TargetLogLevel: &level, ResetLogLevelTimeoutSecs: &short}
	}
	for _, name := range remove {
		levels[name] = &storm.LogLevel{Action: storm.LogLevelAction_REMOVE}
	}
	return &storm.LogConfig{NamedLoggerLevel: levels}, nil
}

func newUploadCredentials() *cobra.Command {
	var s settings
	var file, user string
	var needSome bool
	cmd := &cobra.Command{
		Use:     "upload-credentials TOPOLOGY [KEY VALUE ...]",
		Aliases: []string{"upload_credentials"},
		Short:   "Give a running topology new credentials",
		Example: "  storm upload-credentials words --file credentials.json",
		Args:    usage(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			credentials, err := readCredentials(file, args[1:])
			if err != nil {
				return err
			}
			if needSome && len(credentials) == 0 {
				return errors.New("there are no credentials to upload")
			}
			upload := &storm.Credentials{Creds: credentials}
			if user != "" {
				upload.TopoOwner = &user
			}
			err = s.ask(cmd.Context(), func(n *leader.Nimbus) error { return n.UploadNewCredentials(cmd.Context(), args[0], upload) })
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "Uploaded new credentials to topology %s\n", args[0])
			return err
		},
	}
	s.register(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "JSON file of credentials")
	cmd.Flags().StringVarP(&user, "user", "u", "", "user that the topology must belong to")
	cmd.Flags().BoolVarP(&needSome, "exception-when-empty", "e", false, "fail when there is nothing to upload")
	return cmd
}

func readCredentials(file string, pairs []string) (map[string]string, error) {
	credentials := map[string]string{}
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read credentials: %w", err)
		}
		if err := json.Unmarshal(data, &credentials); err != nil {
			return nil, fmt.Errorf("read credentials from %s: want a JSON object of strings: %w", file, err)
		}
	}
	if len(pairs)%2 != 0 {
		return nil, usagef("credentials on the command line come as pairs of key and value; %q has no value", pairs[len(pairs)-1])
	}
	for i := 0; i < len(pairs); i += 2 {
		credentials[pairs[i]] = pairs[i+1]
	}
	return credentials, nil
}
