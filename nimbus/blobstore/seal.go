// SPDX-License-Identifier: Apache-2.0

// This file holds the seal: the checksum with which a content was stored, so that damage on the disk is told from an update.
//
// The seal stands in the meta file, as two more fields at the end of its struct, which Storm's readers skip. It names the
// inode that it speaks of: a content that somebody else put there since (a stock Nimbus on the same folder, a restored
// backup) is another file, has no seal, and is taken as it is.

package blobstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/gust-stream/gust/internal/regular"
)

// ErrDamaged tells that a content is not what was stored; the error it is wrapped in names the file and both checksums.
var ErrDamaged = errors.New("blob is damaged")

// The fields of the seal in the meta's struct, far above those that Storm uses.
const (
	sumField   = 0x7001
	inodeField = 0x7002

	sealSize = 2 * (1 + 2 + 8) // two fields: type, id, i64
)

type seal struct {
	sum   int64 // CRC-32C of the content
	inode uint64
}

// with returns encoded meta that ends with the seal.
func (s seal) with(meta []byte) []byte {
	bare := unsealed(meta)
	sealed := append(make([]byte, 0, len(bare)+sealSize), bare[:len(bare)-1]...) // without the struct's end
	sealed = append(sealed, thrift.I64)
	sealed = binary.BigEndian.AppendUint16(sealed, sumField)
	sealed = binary.BigEndian.AppendUint64(sealed, uint64(s.sum))
	sealed = append(sealed, thrift.I64)
	sealed = binary.BigEndian.AppendUint16(sealed, inodeField)
	sealed = binary.BigEndian.AppendUint64(sealed, s.inode)
	return append(sealed, thrift.STOP)
}

// sealOf reads the seal off encoded meta.
func sealOf(meta []byte) (seal, bool) {
	at := len(meta) - sealSize - 1
	if at < 0 || meta[at] != thrift.I64 || binary.BigEndian.Uint16(meta[at+1:]) != sumField ||
		meta[at+11] != thrift.I64 || binary.BigEndian.Uint16(meta[at+12:]) != inodeField {
		return seal{}, false
	}
	return seal{sum: int64(binary.BigEndian.Uint64(meta[at+3:])), inode: binary.BigEndian.Uint64(meta[at+14:])}, true
}

// unsealed returns encoded meta without a seal.
func unsealed(meta []byte) []byte {
	if _, ok := sealOf(meta); !ok {
		return meta
	}
	bare := meta[:len(meta)-sealSize-1]
	return append(append(make([]byte, 0, len(bare)+1), bare...), thrift.STOP)
}

// sealFor makes the seal of a file that holds a whole content.
func sealFor(file *os.File, sum uint32) (seal, error) {
	inode, err := inodeOf(file)
	return seal{sum: int64(sum), inode: inode}, err
}

func inodeOf(file *os.File) (uint64, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("no inode of %s", file.Name())
	}
	return stat.Ino, nil
}

// readMeta returns a blob's encoded meta, nil when there is none.
func (s *Store) readMeta(key string) ([]byte, error) {
	meta, err := regular.ReadFile(filepath.Join(s.folder(metaPrefix, key), fileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return meta, err
}

// checkSeal compares a content's checksum with the one it was stored with.
func (s *Store) checkSeal(key string, file *os.File, sum int64) error {
	meta, err := s.readMeta(key)
	if err != nil {
		return err
	}
	mark, ok := sealOf(meta)
	if !ok {
		return nil
	}
	inode, err := inodeOf(file)
	if err != nil {
		return err
	}
	if inode == mark.inode && sum != mark.sum {
		return fmt.Errorf("%w: %s has checksum %08x, was stored with %08x", ErrDamaged, file.Name(), sum, mark.sum)
	}
	return nil
}
