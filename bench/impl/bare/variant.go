package bare

import "fmt"

// A Variant is one of the servers of this package.
type Variant string

const (
	Bare  Variant = ""
	Bare2 Variant = "bare2"
	Lean  Variant = "lean"
)

// A replier appends the answer to one message and reports whether there is one:
// notifications have none. It is used for one message after another,
// by one goroutine at a time.
type replier interface {
	reply(out, msg []byte) ([]byte, bool)
}

// replier makes what answers messages of this variant.
func (v Variant) replier() (replier, error) {
	switch v {
	case Bare:
		return replyFunc(replyBare), nil
	case Bare2:
		return new(bare2), nil
	case Lean:
		return replyFunc(replyLean), nil
	}
	return nil, fmt.Errorf("bare: no variant %q", string(v))
}

type replyFunc func(out, msg []byte) ([]byte, bool)

func (f replyFunc) reply(out, msg []byte) ([]byte, bool) { return f(out, msg) }
