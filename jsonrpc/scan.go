package jsonrpc

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// A scanner goes once over the text of a packet. It checks all that jsontext
// would (a fuzz test holds the two equal) and the limits as well, finds the
// members of the envelope on the way, and builds nothing.
type scanner struct {
	data  []byte
	i     int
	nodes int
	depth int

	names   []nameRef // member names of the objects that are open
	decoded []byte    // those that had escapes, decoded
	table   []uint32  // for finding a name twice in a large object
	twice   bool
}

// A fault is what is wrong with a text.
type fault struct {
	text    string
	soft    bool // the text could be read to its end all the same
	bound   bool // a limit was passed
	request bool // JSON, but no request
}

func (f *fault) syntax() bool { return !f.soft && !f.bound && !f.request }

// code is for an answer to id, which is zero when none had been read.
func (f *fault) code(id ID) int {
	if f.syntax() || f.bound && id.IsZero() {
		return CodeParse
	}
	return CodeInvalidRequest
}

var (
	errSyntax = &fault{text: "not valid JSON"}
	errUTF8   = &fault{text: "not valid UTF-8"}
	errDepth  = &fault{text: "nested too deeply", bound: true}
	errNodes  = &fault{text: "too many values", bound: true}
	errNumber = &fault{text: "number has too many digits", bound: true}
	errTwice  = &fault{text: "a member stands twice in one object", soft: true}
)

var scanners = sync.Pool{New: func() any { return new(scanner) }}

func newScanner(data []byte, l Limits) *scanner {
	s := scanners.Get().(*scanner)
	s.data, s.i, s.nodes, s.depth, s.twice = data, 0, l.Nodes, l.Depth, false
	s.names, s.decoded = s.names[:0], s.decoded[:0]
	return s
}

func (s *scanner) free() {
	const keep = 1 << 12 // do not let one large message hold memory for ever
	if cap(s.names) > keep || cap(s.decoded) > 16*keep || cap(s.table) > 4*keep {
		return
	}
	s.data = nil
	scanners.Put(s)
}

func (s *scanner) space() {
	for s.i < len(s.data) {
		switch s.data[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

// peek is the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	if s.i < len(s.data) {
		return s.data[s.i]
	}
	return 0
}

// end checks that nothing follows, and tells of a member that stood twice.
func (s *scanner) end() *fault {
	if s.space(); s.i < len(s.data) {
		return errSyntax
	}
	if s.twice {
		return errTwice
	}
	return nil
}

// envelope scans a message, which is the whole packet.
func (s *scanner) envelope() (envelope, *fault) {
	if c := s.peek(); c != '{' {
		if err := s.value(1); err != nil {
			return envelope{}, err
		}
		if err := s.end(); err != nil {
			return envelope{}, err
		}
		return envelope{}, &fault{text: "a message is an object", request: true}
	}
	return s.envelopeAt(1)
}

// envelopeAt scans a message and keeps its members. A member that stands twice
// is told by a soft fault.
func (s *scanner) envelopeAt(depth int) (e envelope, err *fault) {
	before := s.twice
	s.twice = false
	if s.nodes--; s.nodes < 0 {
		return e, errNodes
	}
	if depth > s.depth {
		return e, errDepth
	}
	err = s.object(depth, &e)
	if err == nil && s.twice {
		err = errTwice
	}
	s.twice = before
	if depth == 1 && err == errTwice {
		s.twice = true // told at the end, when the rest has been read
		err = nil
	}
	return e, err
}

// value scans any value; depth is its own.
func (s *scanner) value(depth int) *fault {
	if s.nodes--; s.nodes < 0 {
		return errNodes
	}
	switch c := s.peek(); c {
	case '"':
		_, err := s.text()
		return err
	case '{':
		if depth > s.depth {
			return errDepth
		}
		return s.object(depth, nil)
	case '[':
		if depth > s.depth {
			return errDepth
		}
		return s.array(func() *fault { return s.value(depth + 1) })
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	default:
		return s.number()
	}
}

// object scans an object; e, if it is not nil, keeps its members.
func (s *scanner) object(depth int, e *envelope) *fault {
	base := len(s.names)
	s.i++ // {
	s.space()
	if s.peek() == '}' {
		s.i++
		return nil
	}
	for {
		if s.peek() != '"' {
			return errSyntax
		}
		quote := s.i
		escaped, err := s.text()
		if err != nil {
			return err
		}
		name := nameRef{from: quote + 1, to: s.i - 1}
		if escaped {
			name = s.decode(s.data[quote:s.i])
		}
		s.names = append(s.names, name)
		s.space()
		if s.peek() != ':' {
			return errSyntax
		}
		s.i++
		s.space()
		start := s.i
		if err := s.value(depth + 1); err != nil {
			return err
		}
		if e != nil {
			e.keep(s.name(name), s.data[start:s.i])
		}
		s.space()
		switch s.peek() {
		case ',':
			s.i++
			s.space()
		case '}':
			s.i++
			if s.repeats(s.names[base:]) {
				s.twice = true
			}
			s.names = s.names[:base]
			return nil
		default:
			return errSyntax
		}
	}
}

// A nameRef says where a member's name stands: in the text, or decoded. It holds
// no pointer, so that keeping one costs the garbage collector nothing.
type nameRef struct {
	from, to int
	decoded  bool
}

func (s *scanner) name(n nameRef) []byte {
	if n.decoded {
		return s.decoded[n.from:n.to]
	}
	return s.data[n.from:n.to]
}

// decode is the name that a string with escapes stands for.
func (s *scanner) decode(text []byte) nameRef {
	n := len(s.decoded)
	s.decoded, _ = jsontext.AppendUnquote(s.decoded, text)
	return nameRef{n, len(s.decoded), true}
}

func (s *scanner) array(element func() *fault) *fault {
	s.i++ // [
	s.space()
	if s.peek() == ']' {
		s.i++
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		s.space()
		switch s.peek() {
		case ',':
			s.i++
			s.space()
		case ']':
			s.i++
			return nil
		default:
			return errSyntax
		}
	}
}

var seed = maphash.MakeSeed()

// repeats reports whether a name stands twice. Few names are compared with each
// other; many go through a hash table, so that no object costs more than its
// size.
func (s *scanner) repeats(names []nameRef) bool {
	if len(names) <= 16 {
		for i, a := range names {
			for _, b := range names[:i] {
				if a.to-a.from == b.to-b.from && string(s.name(a)) == string(s.name(b)) {
					return true
				}
			}
		}
		return false
	}
	size := 1 << bits.Len(uint(2*len(names)))
	if cap(s.table) < size {
		s.table = make([]uint32, size)
	}
	table := s.table[:size]
	clear(table)
	for i, ref := range names {
		a := s.name(ref)
		for slot := int(maphash.Bytes(seed, a)) & (size - 1); ; slot = (slot + 1) & (size - 1) {
			if table[slot] == 0 {
				table[slot] = uint32(i + 1)
				break
			}
			if string(s.name(names[table[slot]-1])) == string(a) {
				return true
			}
		}
	}
	return false
}

// plain returns how many bytes at the start of b stand for themselves inside a
// JSON string: ASCII, but no control character, quote or backslash. It looks at
// eight bytes at a time.
func plain(b []byte) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote := w ^ ones*'"'
		slash := w ^ ones*'\\'
		// The lowest high bit set marks the first byte that is not plain; those
		// above it may be set by a borrow.
		if m := (w | (w - ones*0x20) | (quote - ones) | (slash - ones)) & highs; m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < 0x20 || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			break
		}
	}
	return i
}

// text scans a string, and tells whether there are escapes in it.
func (s *scanner) text() (escaped bool, err *fault) {
	b := s.data
	for i := s.i + 1; ; {
		i += plain(b[i:])
		if i >= len(b) {
			return false, errSyntax
		}
		switch c := b[i]; {
		case c == '"':
			s.i = i + 1
			return escaped, nil
		case c == '\\':
			n := escape(b[i:])
			if n == 0 {
				return false, errSyntax
			}
			escaped = true
			i += n
		case c < 0x20:
			return false, errSyntax
		default:
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n == 1 {
				return false, errUTF8
			}
			i += n
		}
	}
}

// escape returns the length of the escape that b begins with; 0 if it is none,
// or half of a surrogate pair.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		r, ok := hex4(b)
		switch {
		case !ok || r >= 0xdc00 && r < 0xe000:
			return 0
		case r < 0xd800 || r >= 0xe000:
			return 6
		}
		low, ok := hex4(b[6:])
		if !ok || low < 0xdc00 || low >= 0xe000 {
			return 0
		}
		return 12
	}
	return 0
}

// hex4 reads an escape of the form \u12ab.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

func (s *scanner) word(w string) *fault {
	if len(s.data)-s.i < len(w) || string(s.data[s.i:s.i+len(w)]) != w {
		return errSyntax
	}
	s.i += len(w)
	return nil
}

func (s *scanner) digits() bool {
	start := s.i
	for s.i < len(s.data) && s.data[s.i] >= '0' && s.data[s.i] <= '9' {
		s.i++
	}
	return s.i > start
}

func (s *scanner) number() *fault {
	start := s.i
	if s.peek() == '-' {
		s.i++
	}
	if s.peek() == '0' {
		s.i++
	} else if !s.digits() {
		return errSyntax
	}
	if s.peek() == '.' {
		s.i++
		if !s.digits() {
			return errSyntax
		}
	}
	if s.peek()|0x20 == 'e' {
		s.i++
		if c := s.peek(); c == '+' || c == '-' {
			s.i++
		}
		if !s.digits() {
			return errSyntax
		}
	}
	if s.i-start > maxNumber {
		return errNumber
	}
	return nil
}
