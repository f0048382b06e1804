// SPDX-License-Identifier: Apache-2.0

// This file chooses a segment's kind and size for what it is to hold.

package segment

// Stats says what a segment holds or is to hold. The zero value is nothing.
type Stats struct {
	Entries int

	packed, records    int // bytes that the entries take in those kinds
	largest            int // size of the largest entry in kind Packed
	keySize, valueSize int // all entries', unless mixed
	mixed, flagged     bool
}

// Add counts an entry.
func (s *Stats) Add(keyLength, valueLength int, flags byte) {
	s.AddAll(statsOf(1, keyLength, valueLength, flags))
}

// statsOf is the sum of entries of one size.
func statsOf(entries, keyLength, valueLength int, flags byte) Stats {
	size := packedSize(keyLength, valueLength)
	return Stats{
		Entries: entries,
		packed:  entries * size, records: entries * recordSize(keyLength, valueLength), largest: size,
		keySize: keyLength, valueSize: valueLength, flagged: flags != 0,
	}
}

// AddAll counts the entries of another segment.
func (s *Stats) AddAll(o Stats) {
	if o.Entries == 0 {
		return
	}
	if s.Entries == 0 {
		*s = o
		return
	}
	s.mixed = s.mixed || o.mixed || s.keySize != o.keySize || s.valueSize != o.valueSize
	s.Entries += o.Entries
	s.packed += o.packed
	s.records += o.records
	s.largest = max(s.largest, o.largest)
	s.flagged = s.flagged || o.flagged
}

// Measure counts what a segment holds.
func Measure(seg []byte) (Stats, error) {
	if err := checkHeader(seg); err != nil {
		return Stats{}, err
	}
	if Kind(seg) == Fixed {
		return statsOf(Entries(seg), int(seg[atKeySize]), int(seg[atValueSize]), 0), nil
	}
	var s Stats
	err := Each(seg, func(key []byte, v Value) bool {
		s.Add(len(key), len(v.Bytes), v.Flags)
		return true
	})
	return s, err
}

// MeasureHalves counts what two segments would hold, into which the next bit of the hash divides this one.
func MeasureHalves(seg []byte) (halves [2]Stats, err error) {
	if err := checkHeader(seg); err != nil {
		return halves, err
	}
	depth := Depth(seg)
	if depth >= 64 {
		return halves, nil
	}
	if Kind(seg) == Fixed {
		var entries [2]int
		err := fixedEach(seg, func(key []byte, _ Value) bool {
			entries[Hash(key)<<depth>>63]++
			return true
		})
		for i := range halves {
			halves[i] = statsOf(entries[i], int(seg[atKeySize]), int(seg[atValueSize]), 0)
		}
		return halves, err
	}
	err = Each(seg, func(key []byte, v Value) bool {
		halves[Hash(key)<<depth>>63].Add(len(key), len(v.Bytes), v.Flags)
		return true
	})
	return halves, err
}

// Sizes of segments are multiples of the grain: of a page from wholePages on.
const (
	grain      = 64
	page       = 4096
	wholePages = 32 << 10
)

func roundLength(n int) uint32 {
	if n >= wholePages {
		return uint32((n + page - 1) / page * page)
	}
	return uint32((n + grain - 1) / grain * grain)
}

// grown is n with room to grow by a sixteenth; what rounding adds comes on top.
func grown(n int) int { return n + n/16 + 1 }

const (
	fixedLeastSlots = 3  // with fewer slots a block, searches are long
	fixedGrowth     = 8  // Fixed grows by an eighth: fewer than one in a thousand inserts then meet a rebuild
	fixedWorth      = 20 // Fixed is faster than Packed: worth this part of the size
)

// Choose is the kind and size for what Stats says, with room to grow. More than MaxEntries entries or a length above SlotSize ask for a split.
func Choose(s Stats) Shape {
	best := chooseRecords(s)
	if s.flagged {
		return best
	}
	if s.largest <= packedLargest {
		if p := choosePacked(s); p.Length <= best.Length {
			best = p
		}
	}
	if s.Entries > 0 && !s.mixed && s.largest <= BlockSize/fixedLeastSlots && fixedSlots(uint8(s.keySize), uint8(s.valueSize)) >= fixedLeastSlots {
		if f := chooseFixed(s); f.Length <= best.Length+best.Length/fixedWorth {
			best = f
		}
	}
	return best
}

func blocksShape(kind uint8, blocks int) Shape {
	length := roundLength(HeaderSize + blocks*BlockSize)
	return Shape{Kind: kind, Blocks: (length - HeaderSize) / BlockSize, Length: length}
}

func chooseFixed(s Stats) Shape {
	slots := fixedSlots(uint8(s.keySize), uint8(s.valueSize))
	shape := blocksShape(Fixed, divideUp((s.Entries+s.Entries/fixedGrowth+1)*256, slots*(256-fixedSlack)))
	shape.KeySize, shape.ValueSize = uint8(s.keySize), uint8(s.valueSize)
	return shape
}

func choosePacked(s Stats) Shape {
	if s.packed <= packedRoom {
		return blocksShape(Packed, 1)
	}
	return blocksShape(Packed, divideUp(grown(s.packed)*256, (packedRoom-s.packed/s.Entries/2)*(256-packedSlack)))
}

func chooseRecords(s Stats) Shape {
	words := divideUp(grown(s.Entries)*8, 7) + 1
	length := roundLength(HeaderSize + 4*words + grown(s.records))
	return Shape{Kind: Records, Blocks: uint32(words), Length: length}
}

func divideUp(a, b int) int { return (a + b - 1) / b }

// Larger is a shape with a sixteenth more room: for a segment that has become Full while it was rebuilt.
func (s Shape) Larger() Shape {
	if s.Kind == Records {
		words := grown(int(s.Blocks)) + 1
		s.Length = roundLength(grown(int(s.Length)) + 4*(words-int(s.Blocks)))
		s.Blocks = uint32(words)
		return s
	}
	larger := blocksShape(s.Kind, grown(int(s.Blocks)))
	larger.KeySize, larger.ValueSize = s.KeySize, s.ValueSize
	return larger
}

// Sparse says whether a rebuild would give back a quarter of the segment or more.
func Sparse(seg []byte) bool {
	var want Shape
	s := Stats{Entries: Entries(seg), keySize: int(seg[atKeySize]), valueSize: int(seg[atValueSize])}
	switch Kind(seg) {
	case Fixed:
		want = chooseFixed(s)
	case Packed:
		if s.packed = int(get32(seg, atUsed)); s.Entries == 0 {
			s.Entries, s.packed = 1, 0
		}
		want = choosePacked(s)
	default:
		s.records = int(get32(seg, atUsed)-get32(seg, atDead)) - int(recordStart(get32(seg, atBlocks)))
		want = chooseRecords(s)
	}
	return uint64(want.Length)*4 <= uint64(Length(seg))*3
}
