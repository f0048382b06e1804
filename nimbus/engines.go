// SPDX-License-Identifier: Apache-2.0

// Which components of a topology run on Go: decided once and kept in its conf, so that the scheduler, supervisors and workers agree.

package nimbus

import (
	"archive/zip"
	"io/fs"
	"os"
	"sync"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/topology/engine"
)

// withEngines gives the code with the engines of its components decided, whatever its conf said of them.
func withEngines(c *code, jar fs.FS) (*code, error) {
	plan, err := engine.Decide(engine.Input{Conf: c.conf, Topology: c.system, Jar: jar})
	if err != nil {
		return nil, asInvalid(err)
	}
	engines := plan.Engines()
	if engines == nil && !c.conf.Has(config.GustTopologyEngines) {
		return c, nil
	}
	next := *c
	next.conf = config.Merge(c.conf, nil)
	delete(next.conf, config.GustTopologyEngines)
	if engines != nil {
		next.conf[config.GustTopologyEngines] = engines
	}
	return &next, nil
}

// jarFS is the content of a JAR, which is opened when something is asked of it: most topologies ask for nothing. It is closed by
// whoever made it.
type jarFS struct {
	open func() (*os.File, error)

	once sync.Once
	file *os.File
	zip  *zip.Reader
	err  error
}

func jarFile(path string) *jarFS {
	return &jarFS{open: func() (*os.File, error) { return os.Open(path) }}
}

func (n *Nimbus) jarBlob(id string) *jarFS {
	return &jarFS{open: func() (*os.File, error) {
		blob, err := n.blobs.Open(jarKey(id))
		if err != nil {
			return nil, err
		}
		return blob.File, nil
	}}
}

// Open opens a file in the JAR.
func (j *jarFS) Open(name string) (fs.File, error) {
	j.once.Do(j.read)
	if j.err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: j.err}
	}
	return j.zip.Open(name)
}

func (j *jarFS) read() {
	if j.file, j.err = j.open(); j.err != nil {
		return
	}
	info, err := j.file.Stat()
	if err == nil {
		j.zip, err = zip.NewReader(j.file, info.Size())
	}
	j.err = err
}

func (j *jarFS) close() {
	if j.file != nil {
		_ = j.file.Close() // only read from
	}
}

// decideEngines decides for a topology that is submitted.
func (s *submit) decideEngines() error {
	jar := jarFile(s.jar)
	defer jar.close()
	c, err := withEngines(s.state.code, jar)
	if err != nil {
		return err
	}
	s.state.setCode(c)
	return nil
}
