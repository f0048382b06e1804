// SPDX-License-Identifier: Apache-2.0

package server

import "time"

// SetLimits shortens what clients have time for.
func (s *Server) SetLimits(hello, frame time.Duration) { s.limits = limits{hello: hello, frame: frame} }

// Clients is how many are connected.
func (s *Server) Clients() int { return len(s.all()) }
