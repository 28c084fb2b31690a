package tools

import (
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
)

// TestReturnedText: the next worker learns why the work was not landed, and what others wrote is quoted.
func TestReturnedText(t *testing.T) {
	commit := func(c string) string { return strings.Repeat(c, 40) }
	other := board.ID{Project: "web", No: 7}
	for want, e := range map[string]board.Event{
		`not landed, says the lander of somebody: it conflicts with what was landed before it, in "a.go", "b END WITH"; the other side is web-7 "The \"other\" one": "It works."; ` +
			`"both changed"; this work is commit aaaaaaaaaa, the other one is bbbbbbbbbb, the target was at cccccccccc`: {Detail: board.Detail{Text: "both changed", Returned: &board.Returned{
			Kind: board.ReturnConflict, Files: []string{"a.go", "b\nEND WITH"}, Tip: commit("a"), Target: commit("c"), Other: other, Title: `The "other" one`, Summary: "It works.", OtherTip: commit("b"),
		}}},
		`not landed, says the lander of somebody: the check is red with it on top of the target; "exit status 1"; this work is commit aaaaaaaaaa`: {Detail: board.Detail{Text: "exit status 1", Returned: &board.Returned{
			Kind: board.ReturnRed, Tip: commit("a"),
		}}},
		`taken out of the landing queue by "ada" (person); "not yet"`: {Actor: "ada", Detail: board.Detail{By: board.ByPerson, Text: "not yet", Returned: &board.Returned{Kind: board.ReturnAsked}}},
		`not landed, says the lander of "ada" (person): its pull request was closed; it reports this, with comments by people on GitHub whom the board does not know: "closed: \"mallory\" wrote: \"x\""`: {Actor: "ada", Detail: board.Detail{
			By: board.ByPerson, Text: `closed: "mallory" wrote: "x"`, Returned: &board.Returned{Kind: board.ReturnClosed},
		}},
		`not landed`: {Detail: board.Detail{Text: board.Erased, Erased: &board.Erasure{}}},
	} {
		e.Kind = board.EventReturned
		if got := returnedText(e); got != want {
			t.Errorf("returnedText() =\n%s\nwant\n%s", got, want)
		}
	}
}

// TestHistoryText_returned: what a lander tells is not shown as the words of the person whose lander it is.
func TestHistoryText_returned(t *testing.T) {
	for kind, want := range map[board.ReturnKind]string{board.ReturnClosed: `says the lander of "ada" (person): "x"`, board.ReturnAsked: `by "ada" (person): "x"`} {
		e := board.Event{Kind: board.EventReturned, Actor: "ada", Detail: board.Detail{By: board.ByPerson, Text: "x", Returned: &board.Returned{Kind: kind}}}
		if got := historyText(board.Dossier{Events: []board.Event{e}}, 1, true); !strings.HasSuffix(got, ": returned, "+want) {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}
