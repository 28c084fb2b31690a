package jsonrpc

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/bossman-dev/bossman/internal/rawjson"
)

// A scanner validates the text of a packet in one pass. It checks everything
// jsontext checks (a fuzz test compares the two) and the limits, finds the
// members of the envelope on the way, and builds no values.
type scanner struct {
	data  []byte
	pos   int
	nodes int
	depth int

	names     []nameRef // member names of the enclosing objects
	decoded   []byte    // names that contain escapes, decoded
	table     []uint32  // hash table to find duplicate names in a large object
	duplicate bool
}

// A fault is a validation error.
type fault struct {
	text        string
	recoverable bool // scanning could continue to the end
	limit       bool // a limit was exceeded
	notRequest  bool // valid JSON, but not a request
}

func (f *fault) syntax() bool { return !f.recoverable && !f.limit && !f.notRequest }

// code returns the code of the error response to id, which is zero if none was
// read.
func (f *fault) code(id ID) int {
	if f.syntax() || f.limit && id.IsZero() {
		return CodeParse
	}
	return CodeInvalidRequest
}

var (
	errSyntax    = &fault{text: "not valid JSON"}
	errUTF8      = &fault{text: "not valid UTF-8"}
	errDepth     = &fault{text: "nested too deeply", limit: true}
	errNodes     = &fault{text: "too many values", limit: true}
	errNumber    = &fault{text: "number has too many digits", limit: true}
	errDuplicate = &fault{text: "duplicate member name in an object", recoverable: true}
)

var scanners = sync.Pool{New: func() any { return new(scanner) }}

func newScanner(data []byte, l Limits) *scanner {
	s := scanners.Get().(*scanner)
	s.data, s.pos, s.nodes, s.depth, s.duplicate = data, 0, l.Nodes, l.Depth, false
	s.names, s.decoded = s.names[:0], s.decoded[:0]
	return s
}

func (s *scanner) free() {
	const keep = 1 << 12 // do not retain the memory of one large message for ever
	if cap(s.names) > keep || cap(s.decoded) > 16*keep || cap(s.table) > 4*keep {
		return
	}
	s.data = nil
	scanners.Put(s)
}

func (s *scanner) skipSpace() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

// end checks that nothing follows, and reports a duplicate name found before.
func (s *scanner) end() *fault {
	if s.skipSpace(); s.pos < len(s.data) {
		return errSyntax
	}
	if s.duplicate {
		return errDuplicate
	}
	return nil
}

// envelope scans a message that is the whole packet.
func (s *scanner) envelope() (envelope, *fault) {
	if c := s.peek(); c != '{' {
		if err := s.value(1); err != nil {
			return envelope{}, err
		}
		if err := s.end(); err != nil {
			return envelope{}, err
		}
		return envelope{}, &fault{text: "message must be an object", notRequest: true}
	}
	return s.envelopeAt(1)
}

// envelopeAt scans a message and returns its members. A duplicate name is a
// recoverable fault.
func (s *scanner) envelopeAt(depth int) (e envelope, err *fault) {
	before := s.duplicate
	s.duplicate = false
	if s.nodes--; s.nodes < 0 {
		return e, errNodes
	}
	if depth > s.depth {
		return e, errDepth
	}
	err = s.object(depth, &e)
	if err == nil && s.duplicate {
		err = errDuplicate
	}
	s.duplicate = before
	if depth == 1 && err == errDuplicate {
		s.duplicate = true // reported by end, after the rest was scanned
		err = nil
	}
	return e, err
}

// value scans a value at the given depth.
func (s *scanner) value(depth int) *fault {
	if s.nodes--; s.nodes < 0 {
		return errNodes
	}
	switch c := s.peek(); c {
	case '"':
		_, err := s.scanString()
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
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		return s.number()
	}
}

// object scans an object and stores its members in e, unless e is nil.
func (s *scanner) object(depth int, e *envelope) *fault {
	base := len(s.names)
	s.pos++ // {
	s.skipSpace()
	if s.peek() == '}' {
		s.pos++
		return nil
	}
	for {
		if s.peek() != '"' {
			return errSyntax
		}
		quote := s.pos
		escaped, err := s.scanString()
		if err != nil {
			return err
		}
		name := nameRef{from: quote + 1, to: s.pos - 1}
		if escaped {
			name = s.decode(s.data[quote:s.pos])
		}
		s.names = append(s.names, name)
		s.skipSpace()
		if s.peek() != ':' {
			return errSyntax
		}
		s.pos++
		s.skipSpace()
		start := s.pos
		if err := s.value(depth + 1); err != nil {
			return err
		}
		if e != nil {
			e.set(s.name(name), s.data[start:s.pos])
		}
		s.skipSpace()
		switch s.peek() {
		case ',':
			s.pos++
			s.skipSpace()
		case '}':
			s.pos++
			if s.hasDuplicate(s.names[base:]) {
				s.duplicate = true
			}
			s.names = s.names[:base]
			return nil
		default:
			return errSyntax
		}
	}
}

// A nameRef locates a member's name, in the text or among the decoded names. It
// contains no pointers, so that the garbage collector does not scan the slices
// of them.
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

// decode decodes a name that contains escapes.
func (s *scanner) decode(text []byte) nameRef {
	n := len(s.decoded)
	s.decoded, _ = jsontext.AppendUnquote(s.decoded, text)
	return nameRef{n, len(s.decoded), true}
}

func (s *scanner) array(element func() *fault) *fault {
	s.pos++ // [
	s.skipSpace()
	if s.peek() == ']' {
		s.pos++
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		s.skipSpace()
		switch s.peek() {
		case ',':
			s.pos++
			s.skipSpace()
		case ']':
			s.pos++
			return nil
		default:
			return errSyntax
		}
	}
}

var seed = maphash.MakeSeed()

// hasDuplicate reports whether a name occurs twice. It compares a few names
// pairwise and uses a hash table for many, so that the cost stays proportional
// to the size.
func (s *scanner) hasDuplicate(names []nameRef) bool {
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

// scanString scans a string and reports whether it contains escapes.
func (s *scanner) scanString() (escaped bool, err *fault) {
	b := s.data
	for i := s.pos + 1; ; {
		i += rawjson.PlainPrefix(b[i:])
		if i >= len(b) {
			return false, errSyntax
		}
		switch c := b[i]; {
		case c == '"':
			s.pos = i + 1
			return escaped, nil
		case c == '\\':
			n := escapeLen(b[i:])
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

// escapeLen returns the length of the escape at the start of b, or 0 if it is
// invalid or half of a surrogate pair.
func escapeLen(b []byte) int {
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

// hex4 parses an escape of the form \u12ab.
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

func (s *scanner) literal(w string) *fault {
	if len(s.data)-s.pos < len(w) || string(s.data[s.pos:s.pos+len(w)]) != w {
		return errSyntax
	}
	s.pos += len(w)
	return nil
}

func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > start
}

func (s *scanner) number() *fault {
	start := s.pos
	if s.peek() == '-' {
		s.pos++
	}
	if s.peek() == '0' {
		s.pos++
	} else if !s.digits() {
		return errSyntax
	}
	if s.peek() == '.' {
		s.pos++
		if !s.digits() {
			return errSyntax
		}
	}
	if s.peek()|0x20 == 'e' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if !s.digits() {
			return errSyntax
		}
	}
	if s.pos-start > maxNumber {
		return errNumber
	}
	return nil
}
