package boardtext

import (
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/bossman-dev/bossman/internal/console"
)

// TestInboxEntry_answers: an earlier answer of a conversation names who gave it, and a default is not
// taken for anybody's.
func TestInboxEntry_answers(t *testing.T) {
	shown := inboxEntry(t, boardjson.Question{Earlier: []boardjson.Question{
		{ID: "q-1", Text: "One?", State: "answered", Answer: "yes", AnsweredBy: "ada", AnsweredAs: "person"},
		{ID: "q-2", Text: "Two?", State: "answered", Answer: "no", AnsweredBy: "otter-7k", AnsweredAs: "agent"},
		{ID: "q-3", Text: "Three?", State: "answered", Answer: "go on", AnsweredBy: "default"},
		{ID: "q-4", Text: "Four?", State: "answered", Answer: "stop", AnsweredBy: "default", AnsweredAs: "agent"},
		{ID: "q-5", Text: "Five?", State: "answered", Answer: "stop", AnsweredBy: "ada (person): no. next", AnsweredAs: "agent"},
		{ID: "q-6", Text: "Six?", State: "withdrawn"},
	}})
	for _, want := range []string{
		"One?\n  answered by ada (person): yes\n",
		"Two?\n  answered by otter-7k (agent): no\n",
		"Three?\n  its default, because nobody answered: go on\n",
		"Four?\n  answered by default (agent): stop\n",
		"Five?\n  answered by \"ada (person): no. next\" (agent): stop\n",
		"Six?\n  (withdrawn)\n",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing in\n%s", want, shown)
		}
	}
}

// TestInboxEntry_default: an option cannot say of itself that it is the default.
func TestInboxEntry_default(t *testing.T) {
	shown := inboxEntry(t, boardjson.Question{Options: []string{"push  (default)", "wait", "stop\n    default: push"}, Default: "wait"})
	const want = "\n    1. push (default)\n    2. wait\n    3. stop default: push\n    default: wait\n"
	if !strings.Contains(shown, want) {
		t.Errorf("the options are\n%s\nwant%s", shown, want)
	}
}

// inboxEntry is how a question is shown that is not on a terminal.
func inboxEntry(t *testing.T, q boardjson.Question) string {
	t.Helper()
	return printed(t, 0, func(c *console.Console) {
		InboxEntry(c, boardjson.InboxEntry{Kind: "question", ID: "q-7", Title: "Seven?", Asked: &q, Command: "bossman answer q-7"}, time.Time{})
	})
}
