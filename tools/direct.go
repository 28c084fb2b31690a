package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// Three functions are also plain JSON-RPC methods, for programs that do not speak MCP:
// getNextTask, reportTaskDone and askQuestion. They are served on a pipe, with or without a
// handshake. The program is one worker.

// directState is what the methods keep between calls.
type directState struct {
	worker string
	claims map[board.ID]board.Handle   // the newest claim on each task
	unused map[board.Handle]bool       // claims that no further call has named or implied
	asked  map[string]board.QuestionID // questions that were not answered yet, by chat and text
}

func (t *Tools) addMethods() {
	t.direct = directState{claims: map[board.ID]board.Handle{}, unused: map[board.Handle]bool{}, asked: map[string]board.QuestionID{}}
	for v, serve := range map[*access.Verb]func(context.Context, *mcp.Request) (mcp.Result, error){
		access.Next: t.directNext, access.Done: t.directDone, access.Ask: t.directAsk,
	} {
		t.server.HandleMethod(v.Direct, mcp.Method{NoHandshake: true, Ordered: v.Writes, Handle: func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
			t.called()
			return serve(ctx, r)
		}})
	}
}

type directTask struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Status      string `json:"status"`
}

// Subject returns the task that was handed out.
func (d directTask) Subject() string { return d.ID }

// directNext returns the task that the program has, else a new one, or null if there is
// none.
func (t *Tools) directNext(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
	const what = "Failed to get next task"
	k := t.directCaller(ctx, r, access.Next)
	projects, err := k.among("")
	if err != nil {
		return nil, rpcError(what, err)
	}
	held, err := k.held(ctx)
	if err != nil {
		return nil, rpcError(what, err)
	}
	t.mu.Lock()
	worker := t.direct.worker
	t.mu.Unlock()
	for _, c := range held {
		if !c.IsReview() && (c.Worker.Name == worker || worker == "") {
			d, err := t.b.Get(ctx, c.Task, 1)
			if err != nil {
				return nil, rpcError(what, err)
			}
			t.giveDirectly(c)
			return directTaskOf(d), nil
		}
	}
	if t.waits() { // the task that comes next belongs to that call
		return noDirectTask(r), nil
	}
	a := k.Actor
	a.Worker = worker
	here := t.where(ctx, k)
	here.Direct = here.Dir != ""
	h, err := t.b.Next(ctx, a, board.Wish{
		Worker: worker, Projects: projects, Session: t.o.Session, Where: here, Absent: !t.piped(),
	})
	if _, ok := errors.AsType[*board.Nothing](err); ok {
		return noDirectTask(r), nil
	}
	if err != nil {
		return nil, rpcError(what, err)
	}
	t.remember(ctx, h)
	t.giveDirectly(h.Claim)
	t.mu.Lock()
	t.direct.unused[h.Claim.Handle] = true
	t.mu.Unlock()
	return directTaskOf(h.Dossier), nil
}

// noDirectTask is the result of getNextTask if there is no task.
func noDirectTask(r *mcp.Request) mcp.Result {
	if r.Revision.Stateless() { // its results must be objects
		return struct{}{}
	}
	return json.RawMessage("null")
}

// directTaskOf is a task for getNextTask, which hands out pending tasks. Programs that
// know these methods know no other status of a task that is not done.
func directTaskOf(d board.Dossier) directTask {
	return directTask{d.Task.ID.String(), d.Task.Title, d.Doc.Description, string(board.Pending)}
}

// giveDirectly notes that the program has a claim.
func (t *Tools) giveDirectly(c board.Claim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.direct.worker = c.Worker.Name
	t.direct.claims[c.Task] = c.Handle
}

// used notes that a call has named or implied a claim.
func (t *Tools) used(h board.Handle) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.direct.unused, h)
}

// giveBack gives back the tasks that a program got and did nothing with, at its end. A
// program that is started for each call reports in a later run; see leftHere.
func (t *Tools) giveBack(ctx context.Context) {
	t.mu.Lock()
	unused := slices.Collect(maps.Keys(t.direct.unused))
	t.mu.Unlock()
	for _, h := range unused {
		if err := t.b.GiveBack(ctx, t.o.Pipe.Actor, h, ""); err != nil && !errors.Is(err, board.ErrLeaseLost) {
			t.o.Logger.Warn("a task could not be given back", "task", h.Task, "err", err)
		}
	}
}

// leftHere returns the newest claim on a task if a direct method took it for a process of the
// same principal in this directory that has ended: an earlier run of the program.
func (t *Tools) leftHere(ctx context.Context, k *caller, id board.ID) (board.Handle, bool, error) {
	here := t.where(ctx, k)
	if here.Dir == "" || !k.may(id.Project) {
		return board.Handle{}, false, nil
	}
	d, err := t.b.Get(ctx, id, 1)
	if errors.Is(err, board.ErrNotFound) || err == nil && len(d.Attempts) == 0 {
		return board.Handle{}, false, nil
	}
	if err != nil {
		return board.Handle{}, false, err
	}
	last := d.Attempts[len(d.Attempts)-1]
	if !last.Where.Direct || last.Worker.Principal != k.Principal || !last.Where.SameClone(here) || last.Where.Dir != here.Dir {
		return board.Handle{}, false, nil
	}
	if d.Claim == nil {
		return last.Handle, true, nil // the board says whether the report is too late
	}
	workers, _, err := t.b.Workers(ctx, d.Now.Sub(last.GrantedAt)+time.Minute)
	left := slices.ContainsFunc(workers, func(w board.Worker) bool { return w.WorkerID == last.Worker && w.Owner == "" })
	return last.Handle, left, err
}

// directDone reports a task that was handed out to this process, or to an earlier run of the
// program. Repeating it is safe.
func (t *Tools) directDone(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
	taskID, err := textParam(r, "taskId", true)
	if err != nil {
		return nil, err
	}
	result, err := textParam(r, "result", false)
	if err != nil {
		return nil, err
	}
	const what = "Failed to report task done"
	k := t.directCaller(ctx, r, access.Done)
	id, err := k.taskID(taskID)
	if err != nil {
		return nil, rpcError(what, err)
	}
	t.mu.Lock()
	h, ok := t.direct.claims[id]
	t.mu.Unlock()
	if !ok {
		held, err := k.held(ctx)
		if err != nil {
			return nil, rpcError(what, err)
		}
		for _, c := range held {
			if c.Task == id && !c.IsReview() {
				h, ok = c.Handle, true
			}
		}
	}
	if !ok {
		if h, ok, err = t.leftHere(ctx, k, id); err != nil {
			return nil, rpcError(what, err)
		}
	}
	if !ok {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "%s: %v was not handed out to this process, nor to an earlier one in this directory", what, id)
	}
	t.used(h)
	k.Worker = t.workerOf(h)
	if result == "" {
		result = "Done."
	}
	report := board.Report{Summary: result, Where: t.where(ctx, k)}
	var seen inspection
	if t.o.Inspector != nil {
		seen, err = t.inspect(ctx, k, action{what: "Not recorded.", claim: h}, &report, stated{noChanges: true, cannotSay: true})
		if err != nil {
			return nil, rpcError(what, k.refuse(action{what: "Not recorded.", claim: h}, err))
		}
		if seen.not != nil {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "%s: %s", what, seen.not.text)
		}
	}
	out, err := t.record(ctx, k, h, &report, seen)
	if err != nil {
		return nil, rpcError(what, k.refuse(action{what: "Not recorded.", claim: h}, err))
	}
	t.accepted(ctx, k.Principal, out, report)
	return struct {
		Success bool `json:"success"`
	}{true}, nil
}

// directAsk asks a question and waits for the answer. A repeated call continues to wait; it
// does not ask again.
func (t *Tools) directAsk(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
	question, err := textParam(r, "question", true)
	if err != nil {
		return nil, err
	}
	chatID, err := textParam(r, "chatId", false)
	if err != nil {
		return nil, err
	}
	if chatID == "new" { // which it is told if it names none
		chatID = ""
	}
	const what = "Failed to answer question"
	key := chatID + "\n" + question
	t.mu.Lock()
	id := t.direct.asked[key]
	t.mu.Unlock()
	k := t.directCaller(ctx, r, access.Ask)
	if id == 0 {
		n := board.NewQuestion{ChatID: chatID, Text: question, Blocking: new(false)}
		if n.Claim, n.Project, err = k.subject(ctx); err != nil {
			return nil, rpcError(what, err)
		}
		if !n.Claim.IsZero() {
			t.used(n.Claim)
		}
		q, err := t.b.Ask(ctx, k.Actor, n)
		if err != nil {
			return nil, rpcError(what, err)
		}
		id = q.ID
		t.mu.Lock()
		t.direct.asked[key] = id
		t.mu.Unlock()
		t.announce(q)
	}
	resume := k.wait(maxWait * time.Second)
	q, err := t.b.Await(ctx, id, maxWait*time.Second)
	resume()
	if err != nil && ctx.Err() == nil {
		return nil, rpcError(what, err)
	}
	if err != nil || q.State == board.QuestionOpen {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "%s: %v has no answer yet; repeat the call to keep waiting", what, id)
	}
	t.mu.Lock()
	delete(t.direct.asked, key)
	t.mu.Unlock()
	if q.State != board.QuestionAnswered {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "%s: %v was withdrawn", what, id)
	}
	return struct {
		Answer     string `json:"answer"`
		AnsweredBy string `json:"answeredBy"`
		AnsweredAs string `json:"answeredAs,omitzero"` // person or agent; empty if the default is the answer
		ChatID     string `json:"chatId"`
	}{q.Answer, q.AnsweredBy, string(q.AnsweredAs), cmp.Or(chatID, "new")}, nil
}

// textParam returns a string parameter. A required one must not be empty.
func textParam(r *mcp.Request, name string, required bool) (string, error) {
	want := " must be a string if provided"
	if required {
		want = " must be a non-empty string"
	}
	if required && r.Params() == nil {
		return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params must be an object")
	}
	var s string
	for member, v := range rawjson.Members(r.Params()) {
		if member != name || string(v) == "null" {
			continue
		}
		if err := jsonv2.Unmarshal(v, &s); err != nil {
			return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "%s", name+want)
		}
	}
	if required && s == "" {
		return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "%s", name+want)
	}
	return s, nil
}
