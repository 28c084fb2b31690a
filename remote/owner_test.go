package remote_test

import (
	"errors"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/remote"
)

// TestBoard_owner: of the processes of another key nothing is told, wherever an answer has them, and a
// key's own have the names that its client gave them.
func TestBoard_owner(t *testing.T) {
	s := newSite(t)
	ctx := t.Context()
	ada, bob := s.as("ada"), s.as("bob")
	for _, title := range []string{"One", "Two"} {
		if _, _, err := ada.Create(ctx, local, board.NewTask{Project: "web", Title: title}, ""); err != nil {
			t.Fatal(err)
		}
	}
	h, err := bob.Next(ctx, local, board.Wish{Session: "s-1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bob.Ask(ctx, local, board.NewQuestion{Claim: h.Claim.Handle, Text: "Red or blue?", Blocking: new(false)}); err != nil {
		t.Fatal(err)
	}
	if _, err := ada.Next(ctx, local, board.Wish{}); err != nil {
		t.Fatal(err)
	}
	for by, c := range map[string]struct {
		board *remote.Board
		want  string

		conversation string
	}{"another key": {ada, board.AnotherOwner, ""}, "its own key": {bob, "p-1", "s-1"}} {
		questions := map[string][]board.Question{}
		q, err := c.board.Question(ctx, 1)
		questions["Question"] = append(questions["Question"], q)
		qs, failed := c.board.Questions(ctx, board.QuestionFilter{})
		questions["Questions"] = qs
		d, err2 := c.board.Get(ctx, h.Task.ID, 0)
		questions["Get"] = d.Questions
		in, err3 := c.board.Inbox(ctx, "web")
		for _, asked := range in.Open {
			questions["Inbox"] = append(questions["Inbox"], asked.Question)
		}
		sum, err4 := c.board.Summary(ctx, "web")
		questions["Summary"] = sum.Open
		claims, err5 := c.board.Claims(ctx, board.ClaimFilter{Project: "web", Worker: h.Claim.Worker.Name})
		for what, got := range map[string][]board.Claim{"Get": {*d.Claim}, "Claims": claims} {
			if len(got) != 1 || got[0].Owner != c.want || got[0].Session != c.conversation {
				t.Errorf("by %s, %s = %+v; want one claim, of owner %q in conversation %q", by, what, got, c.want, c.conversation)
			}
		}
		_, nothing := c.board.Next(ctx, board.Actor{Owner: "p-2"}, board.Wish{})
		if none, ok := errors.AsType[*board.Nothing](nothing); ok {
			questions["Next"] = none.Open
		}
		if err := errors.Join(err, failed, err2, err3, err4, err5); err != nil {
			t.Fatal(err)
		}
		for _, what := range []string{"Question", "Questions", "Get", "Inbox", "Summary", "Next"} {
			if got := questions[what]; len(got) != 1 || got[0].Owner != c.want || got[0].AskerLeft() {
				t.Errorf("by %s, %s = %+v; want one question, of owner %q", by, what, got, c.want)
			}
		}
	}
	if q, err := bob.Ask(ctx, board.Actor{}, board.NewQuestion{Project: "web", Text: "Now?"}); err != nil || q.AskerLeft() {
		t.Errorf("Ask without a process = %+v, %v; its asker is there", q, err)
	}
}
