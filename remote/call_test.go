package remote_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
)

// TestBoard_calls: a laptop's gateway admits calls at the server, ends them, and reads what was kept.
func TestBoard_calls(t *testing.T) {
	s := newSite(t)
	ctx := t.Context()
	bob, eve := s.as("bob"), s.as("eve")
	task, _, err := s.b.Create(ctx, board.Actor{Principal: "p"}, board.NewTask{Project: "web", Title: "t"}, "")
	if err != nil {
		t.Fatal(err)
	}
	h, err := bob.Next(ctx, local, board.Wish{Projects: []string{"web"}})
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte("{}"))
	call := board.NewCall{Claim: h.Claim.Handle, Upstream: "github", Tool: "open", Class: board.ClassClaim, Step: "s", Digest: digest[:], Limit: time.Minute}
	got, err := bob.Admit(ctx, local, call)
	if err != nil || got.ID == 0 || got.Limit != time.Minute {
		t.Fatalf("Admit = %+v, %v", got, err)
	}
	_, err = bob.Admit(ctx, local, call)
	if e, ok := errors.AsType[*board.StepError](err); !ok || e.State != board.StepRunning || !errors.Is(err, board.ErrConflict) {
		t.Errorf("Admit of a running step = %v, want a *StepError", err)
	}
	// Another key's word about it changes nothing.
	end := board.EndedCall{ID: got.ID, Outcome: board.CallOK, Result: `{"content":[]}`}
	if err := eve.EndCalls(ctx, []board.EndedCall{end}); err != nil {
		t.Error(err)
	}
	if _, err := eve.Admit(ctx, local, call); err == nil {
		t.Error("another key's call was admitted")
	}
	if err := bob.EndCalls(ctx, []board.EndedCall{end}); err != nil {
		t.Error(err)
	}
	again, err := bob.Admit(ctx, local, call)
	if err != nil || again.Recorded == nil || again.Recorded.Result != end.Result {
		t.Errorf("Admit of a step that was taken = %+v, %v", again, err)
	}
	if err := bob.Touch(ctx, []board.Touched{{Claim: h.Claim.Handle, Reads: []board.Reads{{Upstream: "github", Tool: "get", N: 2}, {Upstream: "laptop/github", Tool: "get", N: 5}}}}); err != nil {
		t.Error(err)
	}
	// A laptop names its servers; that they are a laptop's, this server says.
	d, err := bob.Get(ctx, task.ID, 0)
	if err != nil || len(d.Calls.Last) != 1 || d.Calls.Reads != 2 {
		t.Errorf("Get = %+v, %v", d.Calls, err)
	}
	calls, err := bob.Calls(ctx, board.CallFilter{Task: task.ID})
	if err != nil || len(calls) != 1 || calls[0].Outcome != board.CallOK {
		t.Errorf("Calls = %+v, %v", calls, err)
	}
	if len(calls) > 0 && (!calls[0].FromLaptop() || calls[0].Upstream != "laptop/github") {
		t.Errorf("a laptop's call is recorded as one of %s", calls[0].Upstream)
	}
	// What the team's own server does is recorded by that alone.
	theirs := board.NewCall{Claim: h.Claim.Handle, Upstream: "github", Tool: "open", Step: "theirs", Digest: digest[:], Limit: time.Minute}
	server := board.Actor{Principal: h.Claim.Worker.Principal}
	made, err := s.b.Admit(ctx, server, theirs)
	if err != nil {
		t.Fatal(err)
	}
	if err := bob.EndCalls(ctx, []board.EndedCall{{ID: made.ID, Outcome: board.CallOK, Result: "forged"}}); err != nil {
		t.Error(err)
	}
	if _, err := s.b.Admit(ctx, server, theirs); !strings.Contains(fmt.Sprint(err), "still running") {
		t.Errorf("the call of the team's server was ended over the wire: %v", err)
	}
	theirs.Again, theirs.Limit = made.ID, time.Hour
	if _, err := bob.Admit(ctx, local, theirs); err == nil {
		t.Error("the call of the team's server was continued over the wire")
	}
	theirs = call
	if _, err := s.b.Admit(ctx, server, theirs); !strings.Contains(fmt.Sprint(err), "used for another call") {
		t.Errorf("the team's server used the result of a laptop: %v", err)
	}
	if _, err := bob.Calls(ctx, board.CallFilter{}); err == nil {
		t.Error("the calls of all tasks were listed")
	}
	large := strings.Repeat("0123456789abcde\n", 100_000)
	art, err := bob.PutArtifact(ctx, local, board.NewArtifact{Claim: h.Claim.Handle, Name: "github__get", Body: []byte(large)})
	if err != nil || art.ID == 0 || art.Size != int64(len(large)) || art.Stored == 0 || art.Stored >= art.Size {
		t.Fatalf("PutArtifact = %+v, %v", art, err)
	}
	if art.Name != "laptop/github__get" { // a laptop speaks for its own servers only
		t.Errorf("the artifact is the result of %s", art.Name)
	}
	page, err := bob.Artifact(ctx, local, art.ID, board.ArtifactPage{Line: 3, Lines: 1})
	if err != nil || len(page.Lines) != 1 || page.Lines[0] != (board.ArtifactLine{No: 3, Text: "0123456789abcde"}) {
		t.Errorf("Artifact = %+v, %v", page, err)
	}
	if page, err := eve.Artifact(ctx, local, art.ID, board.ArtifactPage{}); err == nil {
		t.Errorf("another project's artifact was read: %+v", page)
	}
	alone, err := bob.Admit(ctx, local, board.NewCall{Upstream: "github", Tool: "open", Digest: digest[:], Limit: time.Minute})
	if err != nil || alone.ID == 0 {
		t.Errorf("Admit without a claim = %+v, %v", alone, err)
	}
	if _, err := s.b.Cancel(ctx, board.Actor{Principal: "p", Person: true}, task.ID, "no", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := bob.Admit(ctx, local, call); !errors.Is(err, board.ErrLeaseLost) {
		t.Errorf("Admit after the end of the claim = %v, want ErrLeaseLost", err)
	}
}

// TestBoard_manyEnds: what one call has the database do is bounded, and a client makes as many calls as it takes.
func TestBoard_manyEnds(t *testing.T) {
	bob := newSite(t).as("bob")
	var ends []board.EndedCall
	for n := range 250 {
		ends = append(ends, board.EndedCall{ID: board.CallID(1000 + n), Outcome: board.CallOK, Result: strings.Repeat("r", 20<<10)})
	}
	if err := bob.EndCalls(t.Context(), ends); err != nil {
		t.Error(err)
	}
	var many []map[string]any
	for n := range 101 {
		many = append(many, map[string]any{"ID": 1000 + n, "Outcome": "ok"})
	}
	_, err := bob.Send(t.Context(), access.EndCalls, map[string]any{"as": map[string]any{}, "args": map[string]any{"Ends": many}})
	if !errors.Is(err, board.ErrInvalid) {
		t.Errorf("a call that ends 101 others = %v, want ErrInvalid", err)
	}
}
