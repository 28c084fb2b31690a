package rawjson

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// PlainPrefix returns the number of bytes at the start of b that need no attention
// inside a JSON string: ASCII except control characters, quotes and backslashes.
func PlainPrefix(b []byte) int {
	n := len(b)
	for len(b) >= 32 {
		c := b[:32:32]
		if (marks(c)|marks(c[8:])|marks(c[16:])|marks(c[24:]))&highBits != 0 {
			break
		}
		b = b[32:]
	}
	for len(b) >= 8 {
		// The lowest bit set marks the first byte that is not plain. Higher ones
		// may be set by a borrow.
		if m := marks(b) & highBits; m != 0 {
			return n - len(b) + bits.TrailingZeros64(m)/8
		}
		b = b[8:]
	}
	for i, c := range b {
		if c < 0x20 || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return n - len(b) + i
		}
	}
	return n
}

const (
	ones     = 0x0101010101010101
	highBits = 0x80 * ones
)

// marks looks at eight bytes at a time. The high bit of a byte that is not plain is
// set: it was set before, or a subtraction borrowed.
func marks(b []byte) uint64 {
	w := binary.LittleEndian.Uint64(b)
	return w | (w - ones*0x20) | ((w ^ ones*'"') - ones) | ((w ^ ones*'\\') - ones)
}
