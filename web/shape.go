package web

import (
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// A shape is a symbol of symbols.html. Its word always stands beside it.
type shape struct {
	ID    string
	Class string // you, bad, good or ink
	Word  string
}

// stateShapes are how each state of a task looks.
var stateShapes = map[board.State]shape{
	board.StateReady:       {"ready", "", "Ready"},
	board.StateBlocked:     {"block", "", "Blocked"},
	board.StateDraft:       {"held", "", "Held"},
	board.StateReserved:    {"ready", "", "Reserved"},
	board.StateCoolingDown: {"rest", "", "Cooling down"},
	board.StateInProgress:  {"work", "", "Working"},
	board.StateWaiting:     {"ask", "you", "Waiting for you"},
	board.StateReview:      {"eye", "you", "Review"},
	board.StateLanding:     {"land", "", "Landing"},
	board.StateDone:        {"done", "good", "Done"},
	board.StateFailed:      {"fail", "bad", "Failed"},
	board.StateCancelled:   {"off", "", "Cancelled"},
}

// stateShape is how a task's state looks, with its word.
func stateShape(s board.State) shape {
	if g, ok := stateShapes[s]; ok {
		return g
	}
	return shape{"dot", "", visible.Line(s.String())}
}

// A maker is who made an agent: a monogram in a frame of its own, and the name.
type maker struct {
	Mark, Frame, Name string
}

// makers are the agents that we know, by words in the names of their programs. The order
// decides: "gemini" is looked for before the makers whose names are in others' names.
var makers = []struct {
	word string
	maker
}{
	{"claude", maker{"Cl", "", "Claude Code"}},
	{"codex", maker{"Cx", "cut-corner", "Codex"}},
	{"gemini", maker{"Ge", "round", "Gemini"}},
	{"opencode", maker{"oc", "plain", "opencode"}},
	{"copilot", maker{"Cp", "round cut-corner", "Copilot"}},
	{"crush", maker{"Cr", "round", "Crush"}},
	{"cursor", maker{"Cu", "", "Cursor"}},
	{"goose", maker{"Go", "plain", "Goose"}},
	{"qwen", maker{"Qw", "cut-corner", "Qwen"}},
	{"amp", maker{"Am", "", "Amp"}},
}

// makerOf returns who made the agent with one of these names: that of its run, or of its
// program.
func makerOf(names ...string) maker {
	for _, name := range names {
		low := strings.ToLower(name)
		for _, m := range makers {
			if strings.Contains(low, m.word) {
				return m.maker
			}
		}
		if name = line(name, 24); name != "" {
			return maker{monogram(name), "plain", name}
		}
	}
	return maker{"··", "plain", "agent"}
}

// monogram is the beginning of a name.
func monogram(name string) string {
	letters := []rune(name)
	return string(letters[:min(2, len(letters))])
}
