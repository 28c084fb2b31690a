package tools

import (
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
)

// lastReturn hands over why the work of an attempt was not landed: a line, or none if it was not
// taken out of the landing queue. What people said of an earlier attempt's work holds for the later ones, too.
func lastReturn(events []board.Event, attempt int) []string {
	for _, e := range slices.Backward(events) {
		if r := e.Detail.Returned; e.Kind == board.EventReturned && (e.Detail.Attempt == attempt || r != nil && r.Kind == board.ReturnAsked) {
			return []string{returnedText(e)}
		}
	}
	return nil
}

// returnedText says why the work of a task was not landed, as part of a sentence.
func returnedText(e board.Event) string {
	r := e.Detail.Returned
	if r == nil { // it was erased
		return "not landed"
	}
	var s string
	switch r.Kind {
	case board.ReturnConflict:
		s = "not landed, says the lander of " + eventAuthor(e) + ": it conflicts with what was landed before it"
	case board.ReturnRed:
		s = "not landed, says the lander of " + eventAuthor(e) + ": the check is red with it on top of the target"
	case board.ReturnClosed:
		s = "not landed, says the lander of " + eventAuthor(e) + ": its pull request was closed"
	default:
		s = "taken out of the landing queue by " + eventAuthor(e)
	}
	if len(r.Files) > 0 {
		s += ", in " + someFiles(r.Files)
	}
	if !r.Other.IsZero() || r.Title != "" {
		s += "; the other side is " + strings.TrimSpace(r.Other.String()+" "+inline(r.Title, 200))
		if r.Summary != "" {
			s += ": " + inline(r.Summary, 240)
		}
	}
	switch {
	case e.Detail.Text == "":
	case r.Kind == board.ReturnAsked:
		s += "; " + decided(e.Task, e.Detail.Text)
	case r.Kind == board.ReturnClosed: // anybody comments on a public repository
		s += "; it reports this, with comments by people on GitHub whom the board does not know: " + decided(e.Task, e.Detail.Text)
	default:
		s += "; " + inline(e.Detail.Text, 600)
	}
	var commits []string
	for _, c := range []struct{ what, name string }{{"this work is commit ", r.Tip}, {"the other one is ", r.OtherTip}, {"the target was at ", r.Target}} {
		if c.name != "" {
			commits = append(commits, c.what+shortCommit(c.name))
		}
	}
	if len(commits) > 0 {
		s += "; " + strings.Join(commits, ", ")
	}
	return s
}
