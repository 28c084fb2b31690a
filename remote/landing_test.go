package remote_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
)

// TestBoard_landing: work is landed from a laptop with a worker's key, also if answers are lost.
func TestBoard_landing(t *testing.T) {
	s := newSite(t)
	ctx := t.Context()
	person := local
	person.Person = true
	bob, ada := s.as("bob"), s.as("ada")
	if err := ada.SetLand(ctx, person, "web", "main"); !errors.Is(err, board.ErrDenied) {
		t.Errorf("SetLand by a lead = %v, want ErrDenied", err)
	}
	if err := s.as("adm").SetLand(ctx, person, "web", "main"); err != nil {
		t.Fatal(err)
	}
	object := func(n int) string { return fmt.Sprintf("%040x", n) }
	queue := func(n int) board.Item {
		t.Helper()
		task, _, err := ada.Create(ctx, local, board.NewTask{Project: "web", Title: "One"}, "")
		if err != nil {
			t.Fatal(err)
		}
		h, err := bob.Next(ctx, local, board.Wish{Task: task.ID})
		if err != nil {
			t.Fatal(err)
		}
		out, err := bob.Done(ctx, local, h.Claim.Handle, board.Report{Summary: "s", Tip: board.Tip{Commit: object(n), Tree: object(n + 1)}})
		if err != nil || out.Status != board.Landing {
			t.Fatalf("Done() = %+v, %v", out, err)
		}
		return board.Item{Task: task.ID, Attempt: 1, Tip: object(n)}
	}
	first, second := queue(10), queue(20)
	if l, err := s.as("vic").Line(ctx, "web"); err != nil || len(l.Queue) != 2 || l.Queue[0].Tip.Commit != object(10) || l.Queue[0].Task.ID != first.Task {
		t.Errorf("Line() = %+v, %v", l, err)
	}
	if _, err := bob.Lead(ctx, local, board.Lease{Project: "web", Target: "main", Holder: "bob's laptop"}); !errors.Is(err, board.ErrDenied) {
		t.Errorf("Lead by a worker = %v, want ErrDenied", err)
	}
	lost := fault{err: board.ErrUnknown, done: true}
	s.faults.befall(lost)
	lease, err := ada.Lead(ctx, local, board.Lease{Project: "web", Target: "main", Holder: "bob's laptop"})
	if err != nil || lease.Nonce == "" || lease.Left != board.LeaseTime {
		t.Fatalf("Lead() = %+v, %v", lease, err)
	}
	other := local
	other.Owner = "p-2"
	_, err = ada.Lead(ctx, other, board.Lease{Project: "web", Target: "main", Holder: "another"})
	if led, ok := errors.AsType[*board.LedError](err); !ok || led.Holder != "bob's laptop" || led.Left <= 0 {
		t.Errorf("Lead() of another process = %v, want a *LedError", err)
	}
	s.faults.befall(lost)
	i, err := ada.BeginLand(ctx, local, lease, object(1), object(30), []board.Item{first})
	if err != nil || i.State != board.IntentOpen {
		t.Fatalf("BeginLand() = %+v, %v", i, err)
	}
	s.faults.befall(lost)
	out, err := ada.Landed(ctx, local, lease, i.ID, map[board.ID]string{first.Task: object(29)})
	if err != nil || len(out) != 1 || out[0].Task != first.Task || out[0].Status != board.Done || !out[0].Again {
		t.Errorf("Landed() = %+v, %v", out, err)
	}
	if d, err := ada.Get(ctx, first.Task, 0); err != nil || d.Doc.Result.Landed != object(29) {
		t.Errorf("it has landed as %+v, %v", d.Doc.Result, err)
	}
	if _, err := bob.Return(ctx, local, second.Task, board.Return{Kind: board.ReturnAsked}); !errors.Is(err, board.ErrDenied) {
		t.Errorf("Return() by a worker that only wants it = %v, want ErrDenied", err)
	}
	o, err := ada.Return(ctx, local, second.Task, board.Return{Kind: board.ReturnConflict, Attempt: 1, Lease: lease, Files: []string{"a.go"}, Other: first.Task})
	if err != nil || o.Status != board.Pending {
		t.Errorf("Return() = %+v, %v", o, err)
	}
	d, err := ada.Get(ctx, second.Task, 1)
	if err != nil || d.Events[0].Detail.Returned == nil || d.Events[0].Detail.Returned.Title != "One" {
		t.Errorf("the hand-over has %+v, %v", d.Events, err)
	}
	third := queue(40)
	if i, err = ada.BeginLand(ctx, local, lease, object(30), object(50), []board.Item{third}); err != nil {
		t.Fatal(err)
	}
	if err := ada.Dropped(ctx, local, lease, i.ID); err != nil {
		t.Error(err)
	}
	list, err := ada.Intents(ctx, board.IntentFilter{Project: "web"})
	if err != nil || len(list) != 2 || list[0].State != board.IntentDropped || list[1].State != board.IntentLanded || list[1].Items[0] != first {
		t.Errorf("Intents() = %+v, %v", list, err)
	}
	if _, err := ada.Intents(ctx, board.IntentFilter{}); !errors.Is(err, board.ErrNotFound) {
		t.Errorf("Intents() of all projects = %v, want ErrNotFound", err)
	}
	if _, err := ada.Return(ctx, local, third.Task, board.Return{Kind: board.ReturnAsked}); err != nil {
		t.Error(err)
	}
	if err := ada.StepDown(ctx, local, lease); err != nil {
		t.Error(err)
	}
	if _, err := ada.BeginLand(ctx, local, lease, object(30), object(50), []board.Item{third}); !errors.Is(err, board.ErrLeaseLost) {
		t.Errorf("BeginLand() afterwards = %v, want ErrLeaseLost", err)
	}
}

// TestBoard_issues: issues are told by a worker's laptop, also if the answer is lost.
func TestBoard_issues(t *testing.T) {
	s := newSite(t)
	ctx := t.Context()
	person := local
	person.Person = true
	bob, ada := s.as("bob"), s.as("ada")
	const url = "https://github.com/acme/web/issues/12"
	made, err := ada.CreatePlan(ctx, local, board.Plan{Project: "web", Tasks: []board.PlanTask{{Key: "12", Item: url, Author: "mallory", NewTask: board.NewTask{Title: "One"}}}})
	if err != nil {
		t.Fatal(err)
	}
	id := made.Tasks[0].ID
	if d, err := bob.Get(ctx, id, 1); err != nil || !d.Task.Hold || !strings.HasSuffix(d.Events[0].Actor, ": mallory") {
		t.Errorf("the task of an issue is %+v, %v", d, err)
	}
	if _, err := ada.MarkDone(ctx, person, id, "", false); err != nil {
		t.Fatal(err)
	}
	list, err := bob.Untold(ctx, "web")
	if err != nil || len(list) != 1 || list[0] != (board.Issue{URL: url, Task: id}) {
		t.Fatalf("Untold() = %+v, %v", list, err)
	}
	if _, err := bob.Untold(ctx, ""); !errors.Is(err, board.ErrNotFound) {
		t.Errorf("Untold() of no project = %v, want ErrNotFound", err)
	}
	if err := s.as("vic").Told(ctx, local, list[0]); !errors.Is(err, board.ErrDenied) {
		t.Errorf("Told() by a viewer = %v, want ErrDenied", err)
	}
	s.faults.befall(fault{err: board.ErrUnknown, done: true})
	if err := ada.Told(ctx, local, list[0]); err != nil {
		t.Error(err)
	}
	if list, err = bob.Untold(ctx, "web"); err != nil || len(list) != 0 {
		t.Errorf("Untold() afterwards = %+v, %v", list, err)
	}
}
