package agent

// maxNotes bounds how many calls an agent has under way at once, and maxNote what is kept of one. More
// than people are shown is enough.
const (
	maxNotes = 16
	maxNote  = 64 << 10
)

// notes are what an agent has told about its calls that are under way, by their ids: when it asks
// whether it may make one, it need not say that again.
type notes[T any] map[string]T

// note notes something. If there is too much, what was noted before is forgotten.
func (n *notes[T]) note(id string, what T) {
	if *n == nil || len(*n) >= maxNotes {
		*n = notes[T]{}
	}
	(*n)[id] = what
}
