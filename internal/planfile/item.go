package planfile

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"strconv"
)

// An itemPath is the goal of a plan, the titles above an item, and its own title. It is the
// state of a hash of these, so that a deep item takes as much memory as any other.
type itemPath struct{ state hash.Cloner }

// goalPath returns the path that those of all items of a plan begin with.
func goalPath(goal string) itemPath {
	state := sha256.New().(hash.Cloner) // as all of the standard library
	_, _ = io.WriteString(state, goal)
	return itemPath{state}
}

// below returns the path of an item below p.
func (p itemPath) below(title string) itemPath {
	state, err := p.state.Clone()
	if err != nil {
		panic(err) // never, for a hash of the standard library
	}
	_, _ = io.WriteString(state, "\x00")
	_, _ = io.WriteString(state, title)
	return itemPath{state}
}

func (p itemPath) sum() (sum [sha256.Size]byte) {
	p.state.Sum(sum[:0])
	return sum
}

// itemNames names the items of a plan, so that they are recognized when the file is read
// again: by the goal, and by the titles of the item and of those above it. Items with the
// same titles are counted. Boards keep the names: they must not change.
type itemNames struct {
	seen map[[sha256.Size]byte]int
}

func (n *itemNames) name(path itemPath) string {
	if n.seen == nil {
		n.seen = map[[sha256.Size]byte]int{}
	}
	titles := path.sum()
	n.seen[titles]++
	sum := path.below(strconv.Itoa(n.seen[titles])).sum()
	return "plan:" + hex.EncodeToString(sum[:16])
}
