package board

import (
	"bytes"
	"iter"
)

// maxPiece bounds what rawLines allocates at once, except for a longer line.
const maxPiece = 64 << 10

// rawLines are lines of a file as they are in it: decoded, short ones take some forty times as much
// memory.
type rawLines struct {
	pieces [][]byte // whole lines, each with its line end
	n      int
}

// with returns the lines with a copy of one more, which takes their place.
func (r rawLines) with(line []byte) rawLines {
	size := len(line) + 1
	last := len(r.pieces) - 1
	if last < 0 || cap(r.pieces[last])-len(r.pieces[last]) < size {
		next := size
		if last >= 0 {
			next = max(size, min(2*cap(r.pieces[last]), maxPiece))
		}
		r.pieces = append(r.pieces, make([]byte, 0, next))
		last++
	}
	r.pieces[last] = append(append(r.pieces[last], line...), '\n')
	r.n++
	return r
}

// all yields the lines.
func (r rawLines) all() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, piece := range r.pieces {
			for line := range bytes.Lines(piece) {
				if !yield(line) {
					return
				}
			}
		}
	}
}

// chunks yields the lines, up to n of them at once.
func (r rawLines) chunks(n int) iter.Seq[[][]byte] {
	return func(yield func([][]byte) bool) {
		var chunk [][]byte
		for line := range r.all() {
			if chunk = append(chunk, line); len(chunk) < n {
				continue
			}
			if !yield(chunk) {
				return
			}
			chunk = nil
		}
		if len(chunk) > 0 {
			yield(chunk)
		}
	}
}
