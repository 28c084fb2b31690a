package jsonrpc

import (
	"cmp"
	"fmt"
)

// Limits bounds the cost of decoding one packet. They are checked before
// anything is allocated. A zero field means the default.
type Limits struct {
	Bytes int // size; default 1 MiB
	Depth int // nesting depth; the packet itself is 1; default 64
	Nodes int // number of values of any kind; default 100,000
	Batch int // messages in a batch; default 100
}

// maxNumber limits the characters of a number. Parsing longer ones is slow.
const maxNumber = 1000

// maxMethod limits the method name, in bytes of JSON text.
const maxMethod = 256

func (l Limits) withDefaults() Limits {
	return Limits{
		Bytes: cmp.Or(l.Bytes, 1<<20),
		Depth: cmp.Or(l.Depth, 64),
		Nodes: cmp.Or(l.Nodes, 100_000),
		Batch: cmp.Or(l.Batch, 100),
	}
}

// Decode decodes one packet. The messages share the memory of data, so the
// caller must not modify it afterwards. The error is always a *Malformed.
//
// Decode is strict. The text must be I-JSON (valid UTF-8, no duplicate names,
// no lone surrogates) within the limits. Names of envelope members are matched
// exactly. A request with an unknown member is refused, because another reader
// may interpret it differently.
func Decode(data []byte, limits Limits) (Packet, error) {
	l := limits.withDefaults()
	if len(data) > l.Bytes {
		bad := peekOversized(data, l.Bytes)
		if bad.ID.IsZero() {
			bad.ID = idAtEnd(data)
		}
		return Packet{}, bad
	}
	s := newScanner(data, l)
	defer s.free()
	s.skipSpace()
	if s.peek() == '[' {
		return decodeBatch(s, l)
	}
	e, err := s.envelope()
	if err == nil {
		err = s.end()
	}
	if err != nil && err.limit {
		e = peekEnvelope(data)
	}
	m, bad := e.message(err)
	if bad != nil {
		return Packet{}, bad
	}
	return One(m), nil
}

func tooLarge(limit int) *Error {
	return malformed(CodeInvalidRequest, fmt.Sprintf("message is larger than %d bytes", limit))
}

func decodeBatch(s *scanner, l Limits) (Packet, error) {
	var batch []Element
	refused := func(err *fault) (Packet, error) {
		return Packet{}, &Malformed{Err: malformed(err.code(ID{}), err.text)}
	}
	err := s.array(func() *fault {
		if len(batch) == l.Batch {
			return &fault{text: "batch has too many messages", notRequest: true}
		}
		if s.peek() != '{' {
			before := s.duplicate
			if err := s.value(2); err != nil {
				return err
			}
			s.duplicate = before
			batch = append(batch, Element{Malformed: &Malformed{Err: malformed(CodeInvalidRequest, "message must be an object")}})
			return nil
		}
		e, err := s.envelopeAt(2)
		if err != nil && !err.recoverable {
			return err
		}
		m, bad := e.message(err)
		if m != nil {
			m.Batched = true
		}
		batch = append(batch, Element{m, bad})
		return nil
	})
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return refused(err)
	}
	if len(batch) == 0 {
		return refused(&fault{text: "batch is empty", notRequest: true})
	}
	return Packet{Batch: batch}, nil
}
