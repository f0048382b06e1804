// SPDX-License-Identifier: Apache-2.0

// Package facts lets stock workers say about themselves what cannot be seen
// from outside: the Storm and the JDK that they run, a key of their own conf,
// where a resource on their class path comes from.
//
// A task hook in Java (java/org/gust/facts) writes this down in each worker.
// Compile makes the hook, Hook.Conf puts it into a topology that knows nothing
// of it, Read reads what a worker wrote. Packages versions and client use it.
package facts
