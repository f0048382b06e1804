// SPDX-License-Identifier: Apache-2.0

package localstate

// This file names the records that a supervisor keeps.

import "github.com/gust-stream/gust/thrift/storm"

// Keys of the records, as Storm spells them.
const (
	KeySupervisorID     = "supervisor-id"
	KeyLocalAssignments = "local-assignments"
	KeyApprovedWorkers  = "approved-workers"
	KeyWorkerHeartbeat  = "worker-heartbeat"
)

// SupervisorID reads the supervisor's id, or "" if none was set yet.
func (s *Store) SupervisorID() (string, error) {
	var record storm.LSSupervisorId
	if _, err := s.Get(KeySupervisorID, &record); err != nil {
		return "", err
	}
	return record.SupervisorID, nil
}

// SetSupervisorID keeps the supervisor's id.
func (s *Store) SetSupervisorID(id string) error {
	return s.Update(func(r *Records) error {
		return r.Put(KeySupervisorID, &storm.LSSupervisorId{SupervisorID: id})
	})
}

// ApprovedWorkers reads which worker id was approved for which port; never nil without an error.
func (s *Store) ApprovedWorkers() (map[string]int32, error) {
	var record storm.LSApprovedWorkers
	if _, err := s.Get(KeyApprovedWorkers, &record); err != nil {
		return nil, err
	}
	return orEmpty(record.ApprovedWorkers), nil
}

// ApproveWorker makes workerID the only approved worker of port.
func (s *Store) ApproveWorker(workerID string, port int32) error {
	return s.Update(func(r *Records) error {
		var record storm.LSApprovedWorkers
		if _, err := r.Get(KeyApprovedWorkers, &record); err != nil {
			return err
		}
		workers := orEmpty(record.ApprovedWorkers)
		for id, at := range workers {
			if at == port {
				delete(workers, id)
			}
		}
		workers[workerID] = port
		return r.Put(KeyApprovedWorkers, &storm.LSApprovedWorkers{ApprovedWorkers: workers})
	})
}

// ForgetWorker drops workerID from the approved workers; an unknown one is no error.
func (s *Store) ForgetWorker(workerID string) error {
	return s.Update(func(r *Records) error {
		var record storm.LSApprovedWorkers
		if _, err := r.Get(KeyApprovedWorkers, &record); err != nil {
			return err
		}
		if _, ok := record.ApprovedWorkers[workerID]; !ok {
			return nil
		}
		delete(record.ApprovedWorkers, workerID)
		return r.Put(KeyApprovedWorkers, &record)
	})
}

// LocalAssignments reads what each port runs; never nil without an error.
func (s *Store) LocalAssignments() (map[int32]*storm.LocalAssignment, error) {
	var record storm.LSSupervisorAssignments
	if _, err := s.Get(KeyLocalAssignments, &record); err != nil {
		return nil, err
	}
	return orEmpty(record.Assignments), nil
}

// SetLocalAssignment keeps what port runs; a nil assignment means nothing.
func (s *Store) SetLocalAssignment(port int32, assignment *storm.LocalAssignment) error {
	return s.Update(func(r *Records) error {
		var record storm.LSSupervisorAssignments
		if _, err := r.Get(KeyLocalAssignments, &record); err != nil {
			return err
		}
		assignments := orEmpty(record.Assignments)
		if _, ok := assignments[port]; !ok && assignment == nil {
			return nil
		}
		if assignment == nil {
			delete(assignments, port)
		} else {
			assignments[port] = assignment
		}
		return r.Put(KeyLocalAssignments, &storm.LSSupervisorAssignments{Assignments: assignments})
	})
}

// SetLocalAssignments keeps what every port runs.
func (s *Store) SetLocalAssignments(assignments map[int32]*storm.LocalAssignment) error {
	return s.Update(func(r *Records) error {
		return r.Put(KeyLocalAssignments, &storm.LSSupervisorAssignments{Assignments: orEmpty(assignments)})
	})
}

func orEmpty[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return m
}
