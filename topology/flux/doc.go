// SPDX-License-Identifier: Apache-2.0

// Package flux makes a topology of a YAML file in the format of Storm's Flux, as far as its components are child processes:
// FluxShellSpout and FluxShellBolt, or gust's own lighter form with a command. [Load] gives name, conf and StormTopology; no Java
// is needed. A file that wants other Java classes is refused with the line and the class; "storm jar" with Flux's own JAR
// submits such files.
//
// It reads no file by itself: includes come through [Options].
package flux
