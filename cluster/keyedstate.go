// SPDX-License-Identifier: Apache-2.0

// This file holds what supervisors tell of the keyed states they keep. Storm has nothing like it.

package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	"go.uber.org/zap"
)

// stateReportsDir has a child for each supervisor that keeps states, also while it is away.
const stateReportsDir = "/gust-state"

// stateReportVersion is the version of a report's form.
const stateReportVersion = 1

// StateReport says which keyed states a supervisor keeps.
type StateReport struct {
	Version    int              `json:"version"`
	Host       string           `json:"host"`
	Components []StateComponent `json:"components"`
}

// StateComponent are the states of one component's tasks on one supervisor.
type StateComponent struct {
	Topology  string  `json:"topology"`
	Owner     string  `json:"owner"`
	Component string  `json:"component"`
	Tasks     int32   `json:"tasks"` // of the component when its states came into being
	Here      []int32 `json:"here"`  // tasks whose state is on this supervisor, ascending
	Entries   uint64  `json:"entries"`
	Bytes     uint64  `json:"bytes"`  // of memory
	Opened    int64   `json:"opened"` // when a task last opened one, milliseconds since 1970
}

// SetStateReport writes a supervisor's report, which stays when the supervisor goes.
func (s *State) SetStateReport(ctx context.Context, supervisorID string, report StateReport) error {
	node, err := child(stateReportsDir, supervisorID)
	if err != nil {
		return err
	}
	report.Version = stateReportVersion
	text, err := json.Marshal(report)
	if err != nil {
		return fmt.Errorf("write %s: %w", node, err)
	}
	data, err := Pack(text)
	if err != nil {
		return fmt.Errorf("write %s: %w", node, err)
	}
	return s.set(ctx, node, data)
}

// StateReports gives the reports of all supervisors by their ids. One that is not readable is logged and left out.
func (s *State) StateReports(ctx context.Context) (map[string]StateReport, error) {
	ids, err := s.children(ctx, stateReportsDir)
	if err != nil {
		return nil, err
	}
	reports := make(map[string]StateReport, len(ids))
	for _, id := range ids {
		data, err := s.get(ctx, stateReportsDir+"/"+id)
		if err != nil {
			return nil, err
		}
		if data == nil {
			continue // it was removed between the two reads
		}
		report, err := decodeStateReport(data)
		if err != nil {
			s.log.Warn("report of keyed states is not readable", zap.String("node", id), zap.Error(err))
			continue
		}
		reports[id] = report
	}
	return reports, nil
}

func decodeStateReport(data []byte) (StateReport, error) {
	var report StateReport
	text, err := Unpack(data)
	if err != nil {
		return report, err
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return report, err
	}
	if report.Version != stateReportVersion {
		return report, fmt.Errorf("version %d, known is %d", report.Version, stateReportVersion)
	}
	return report, nil
}

// RemoveStateReport removes a supervisor's report.
func (s *State) RemoveStateReport(ctx context.Context, supervisorID string) error {
	return s.drop(ctx, stateReportsDir, supervisorID)
}
