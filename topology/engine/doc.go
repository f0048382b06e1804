// SPDX-License-Identifier: Apache-2.0

// Package engine decides which components of a topology run on Go workers and which on Java workers, and says why. Nimbus asks
// it at a submit and keeps the answer in the topology's conf; scheduler and supervisors follow that.
//
//   - [Decide] takes conf, system topology and JAR and gives a [Plan].
//   - [ReadChild] gives the command of a component that is a child process: a ShellComponent, or a Java object whose class extends
//     Storm's ShellBolt or ShellSpout. Workers call it too.
//   - [PartialKeyFields] reads the one custom grouping that Go workers know.
//
// A component whose class extends ShellBolt runs on Go only if that class has no code which a Java worker would run: [judge.go]
// has the rules. It runs no Java and opens no file.
package engine
