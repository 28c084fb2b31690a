package tools

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
	"github.com/bossman-dev/bossman/jsonrpc"
)

// A refusal is the error of a call that was not carried out, in four parts. The model reads
// it; it is not a failure of the server.
type refusal struct {
	what  string // what was refused: "Not recorded."
	state string // the state now
	why   string
	next  string // the exact next call
	code  string // for programs
	err   error
}

func (r *refusal) Error() string {
	return strings.Join([]string{r.what, r.state, visible.Line(r.why), r.next}, " ")
}

func (r *refusal) Unwrap() error { return r.err }

func asRefusal(err error) (*refusal, bool) { return errors.AsType[*refusal](err) }

// An action describes what a call was going to do, for the refusal if it fails.
type action struct {
	what    string // the first part of the refusal: "Not recorded."
	task    board.ID
	claim   board.Handle
	subject string         // what the call looked for, if not the task: "question q-18"
	worker  string         // the caller's worker name, if known
	next    string         // the next call, unless the error implies one
	now     *board.Dossier // the task as it is now, if that was read after the error
}

// refuse turns an error of the board into a refusal. It returns other errors unchanged.
func (k *caller) refuse(e action, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := asRefusal(err); ok {
		return err
	}
	if e.task.IsZero() {
		e.task = e.claim.Task
	}
	if e.worker == "" && !e.claim.IsZero() {
		e.worker = k.t.workerOf(e.claim)
	}
	r := &refusal{what: e.what, state: "Nothing has changed.", why: errorText(err), next: e.next, err: err}
	if !e.task.IsZero() {
		r.state = fmt.Sprintf("%v has not changed.", e.task)
	}
	if r.next == "" {
		r.next = "Next: " + k.lookCall(e.task) + "."
	}
	lost, isLost := errors.AsType[*board.LostError](err)
	evidence, isEvidence := errors.AsType[*board.EvidenceError](err)
	edited, isEdited := errors.AsType[*board.EditedError](err)
	unanswered, isUnanswered := errors.AsType[*board.UnansweredError](err)
	unfinished, isUnfinished := errors.AsType[*board.UnfinishedError](err)
	cycle, isCycle := errors.AsType[*board.CycleError](err)
	stopped, isStopped := errors.AsType[*board.StoppedError](err)
	name, isHeld := errors.AsType[*board.HeldError](err)
	unknown, isUnknown := errors.AsType[*board.UnknownError](err)
	gone, isGone := errors.AsType[*board.ArchivedError](err)
	switch {
	case isLost:
		r.code = "lease_lost"
		r.setLost(k, e, lost)
	case isEvidence:
		r.code = "evidence_missing"
		r.what = "Not recorded."
		r.state = "You still hold " + evidence.Task.String() + "."
		r.why = fmt.Sprintf("It requires evidence of kind %s; you sent %s.", joined(evidence.Missing), cmp.Or(joined(evidence.Sent), "none"))
		r.next = fmt.Sprintf("%s and %s with that evidence added: %s.", evidenceSteps(evidence.Missing), repeat(),
			call("report_task_done", "claim", e.claim.String(), "summary", "…", "evidence", evidenceExample(append(evidence.Sent, evidence.Missing...))))
	case isEdited:
		r.code = "edited"
		r.what = "Not recorded."
		r.state = "You still hold " + edited.Task.String() + "."
		r.why = "The task was edited after you got it."
		r.next = "Next: read its new text below. If your report still holds, " + repeat() + "; otherwise go on with the task." + editedText(edited, e.now)
	case isUnanswered:
		r.code = "unanswered"
		ids := strings.Trim(fmt.Sprint(unanswered.Questions), "[]")
		r.why = fmt.Sprintf("People have not answered %s yet, and nobody else may.", ids)
		r.next = fmt.Sprintf("Next: wait with %s", call("get_answer", "question", unanswered.Questions[0].String(), "wait_seconds", maxWait))
		if !e.claim.IsZero() {
			r.state = fmt.Sprintf("You still hold %v.", unanswered.Task)
			r.next += fmt.Sprintf(" and then %s; or park the task: %s", repeat(), call("report_task_failed", "claim", e.claim.String(), "kind", "blocked", "reason", "…"))
		}
		r.next += "."
	case isUnfinished:
		r.code = "unfinished"
		r.why = unfinished.Why()
		if !e.claim.IsZero() {
			r.state = fmt.Sprintf("You still hold %v.", unfinished.Task)
			r.next = "Next: " + finishFirst(e.claim)
		}
	case isCycle:
		r.code = "cycle"
		r.why = "The dependencies would form a cycle: " + pathText(cycle.Path) + "."
		r.next = "Next: " + repeat() + " without one of these links."
	case isStopped:
		r.code = "stopped"
		r.state = "You get no more work."
		r.why = "Cancelled: stop. " + author("", stopped.Worker.StoppedBy) + " told this worker to stop."
		r.next = "End your turn now; make no other call."
	case isHeld:
		r.code = "name_taken"
		r.state = "Nothing was handed out."
		r.why = "The name belongs to another agent. It is free when that agent's process ends, or in " + board.Span(name.Left) + " without a call from it."
		r.next = "Next: " + call("get_next_task", "worker", "new") + "."
	case isUnknown:
		r.code = "unknown"
		r.what = "It is not known whether a task was handed out."
		r.state = "If one was, you hold it as worker " + unknown.Worker + "."
		r.why = "The database connection was lost during the write."
		r.next = "Next: " + nextCall(unknown.Worker) + "."
	case errors.Is(err, board.ErrNotFound):
		r.code = "not_found"
		r.state = "Nothing has changed."
		r.why = "There is no " + cmp.Or(e.subject, "such thing") + " on this board."
		if !e.task.IsZero() {
			r.why = fmt.Sprintf("There is no task %v on this board.", e.task)
			if e.next == "" {
				r.next = "Next: " + k.lookCall(board.ID{}) + "."
			}
		}
		if isGone {
			r.why = fmt.Sprintf("Task %v is finished and was archived on %s: it is no longer on this board, and nothing has to wait for it.", gone.Task, gone.At.UTC().Format(time.DateOnly))
		}
	case errors.Is(err, board.ErrInvalid):
		r.code = "invalid"
		if e.next == "" {
			r.next = "Next: fix that and " + repeat() + "."
		}
	case errors.Is(err, board.ErrConflict):
		r.code = "conflict"
	case errors.Is(err, access.ErrKeyRejected):
		r.code = "denied"
		r.next = "Ask the person at your client to log in again with `bossman login`, then reconnect this MCP server; until then end your turn."
	case errors.Is(err, board.ErrFull):
		r.code = "full"
		r.state = "Nothing was recorded, and you still hold what you held."
		r.why = "The disk with the board is full."
		r.next = "Tell the person at your client to free space on it, then " + repeat() + ". Until then end your turn."
	case errors.Is(err, board.ErrReadOnly):
		r.code = "read_only"
		r.next = "Tell the person at your client: in a sandbox, commands must be allowed to write to that directory, or the agent gets the board over MCP, because bossman mcp runs outside the sandbox. Until then end your turn."
	case errors.Is(err, board.ErrDenied):
		r.code = "denied"
		if e.next == "" {
			r.next = "Leave it to someone else; continue with your own task, or end your turn."
		}
	case errors.Is(err, board.ErrTooNew):
		r.code = "too_new"
		r.state = "Nothing is lost."
		r.why = "Bossman was upgraded while this process was running."
		r.next = "Ask the person at your client to reconnect this MCP server, then repeat the call."
	case errors.Is(err, board.ErrUnknown):
		r.code = "unknown"
		r.what = "It is not known whether this was done."
		r.state = "The change may or may not be saved."
		r.why = "The database connection was lost during the write."
		r.next = "Next: " + repeat() + " in a minute; a repeated report is recorded only once. If you were creating something, first check whether it exists: " + k.lookCall(e.task) + "."
	case errors.Is(err, board.ErrGone):
		r.code = "gone"
		r.state = "Nothing was read or written, and nothing is known about your task."
		r.next = "Leave your work as it is. Tell the person at your client to put the board back, or to reconnect this MCP server in the directory where the project is now; until then end your turn."
	case errors.Is(err, board.ErrUnavailable):
		r.code = "unavailable"
		r.state = "Nothing has changed, and you still hold your task for now."
		r.why = "The board cannot be reached; this does not mean that your task is gone."
		r.next = "Next: " + repeat() + " in a minute; if it fails again, end your turn and say so."
	default:
		return err
	}
	return r
}

// editedText is the new text of a task. now is the task, if it could be read again: then it
// is known who wrote what.
func editedText(e *board.EditedError, now *board.Dossier) string {
	if now == nil {
		now = &board.Dossier{Task: board.Task{ID: e.Task, Title: e.Title, Wants: e.Wants, SpecVersion: 2}, Doc: board.Doc{Description: e.Description, Acceptance: e.Acceptance}}
	}
	return join(append(specSections(*now, 2500), section{title: "EVIDENCE REQUIRED", body: joined(now.Task.Wants)}))
}

// pathText shows a cycle of tasks, and of keys that a plan gave to tasks.
func pathText(path []string) string {
	names := make([]string, len(path))
	for i, name := range path {
		names[i] = name
		if _, err := board.ParseID(name); err != nil {
			names[i] = inline(name, 60)
		}
	}
	return joinUpTo(names, " → ", 1000)
}

// evidenceSteps says how to produce evidence of each kind; there is at least one.
func evidenceSteps(kinds []board.EvidenceKind) string {
	var steps []string
	for _, k := range kinds {
		switch k {
		case board.EvidenceCommit:
			steps = append(steps, "commit your work")
		case board.EvidencePR:
			steps = append(steps, "open the pull request")
		case board.EvidenceTests:
			steps = append(steps, "run the tests")
		case board.EvidenceCommand:
			steps = append(steps, "run the command")
		default:
			steps = append(steps, "produce the "+string(k)+" evidence")
		}
	}
	s := strings.Join(steps, ", ")
	return strings.ToUpper(s[:1]) + s[1:]
}

// setLost fills in a refusal for a claim that has ended, or that never was.
func (r *refusal) setLost(k *caller, e action, l *board.LostError) {
	id := l.Claim.Task
	if k.isMistyped(e, l) {
		r.state = fmt.Sprintf("You hold %v.", l.Holder.Handle)
		r.why = fmt.Sprintf("%v is not your claim on %v.", l.Claim, id)
		r.next = "Next: " + repeat() + " with " + argument("claim", l.Holder.Handle.String()) + "."
		return
	}
	stopped := false
	switch {
	case l.Holder != nil:
		r.state = fmt.Sprintf("%v is at attempt %d, held by another worker since %s.", id, l.Task.Attempt, clock(l.Holder.GrantedAt))
	default:
		r.state = fmt.Sprintf("%v is %s at attempt %d.", id, l.Task.State(), l.Task.Attempt)
	}
	switch a := l.Ended; {
	case a == nil:
		r.why = fmt.Sprintf("There is no claim %v; check the claim you were given.", l.Claim)
	case a.Cause == board.CauseExpired:
		r.why = fmt.Sprintf("Your lease expired at %s.", clock(a.EndedAt))
		if a.Reason == board.Killed {
			r.why = fmt.Sprintf("The process that held your claim was killed at %s.", clock(a.EndedAt))
		}
		if l.Holder == nil && a.SpecVersion != l.Task.SpecVersion {
			r.why += " The task was edited after you got it."
		}
	case a.Cause == board.CauseCancelled:
		r.why = fmt.Sprintf("Cancelled: stop. The task was cancelled at %s: %s", clock(a.EndedAt), sentence(inline(a.Reason, 300)))
	case a.Cause == board.CauseClosed:
		r.why = fmt.Sprintf("Cancelled: stop. A person marked the task done at %s", clock(a.EndedAt))
		if a.Reason != "" {
			r.why += ": " + inline(a.Reason, 300)
		}
		r.why = sentence(r.why)
	case a.Cause == board.CauseStopped:
		r.why = fmt.Sprintf("Cancelled: stop. You were told to stop at %s.", clock(a.EndedAt))
		stopped = true
	case a.Cause == "":
		r.why = "Your claim is not the current one."
	default:
		r.why = fmt.Sprintf("Your claim ended at %s (%s).", clock(a.EndedAt), causeText(a.Cause))
	}
	if l.Kept {
		r.why += " Your text was kept as a note."
	}
	if l.Ended != nil && l.Ended.Cause == board.CauseDone {
		r.next = ""
	} else {
		r.next = "Do not push or merge; leave your work on its branch. "
	}
	if l.Ended != nil && e.worker == "" {
		e.worker = l.Ended.Worker.Name
	}
	if stopped {
		r.next += "End your turn now."
		return
	}
	r.next += k.t.next(e.worker)
}

// isMistyped reports whether a call names the wrong claim on a task that the caller holds:
// one that never was, or that of an earlier attempt of the same worker.
func (k *caller) isMistyped(e action, l *board.LostError) bool {
	switch {
	case l.Holder == nil:
		return false
	case l.Ended == nil:
		return l.Holder.Owner == k.Owner && k.Owner != ""
	}
	return l.Holder.Worker == l.Ended.Worker || l.Holder.Worker.Name == e.worker && e.worker != ""
}

// noProject refuses a call that names none of the projects the caller may use.
func noProject(projects []string, named string) error {
	r := &refusal{what: "Not done.", state: "Nothing has changed.", code: "invalid", err: board.ErrInvalid}
	switch {
	case len(projects) == 0:
		r.why, r.next = "You have no access to any project on this board.", "Ask the person at your client for access, then end your turn."
	case named == "":
		r.why = "There are several projects: " + strings.Join(projects, ", ") + "."
		r.next = "Next: " + repeat() + " with " + argument("project", projects[0]) + ", or another of them."
	default:
		r.why = fmt.Sprintf("You have no access to a project %s; your projects: %s.", inline(named, 40), strings.Join(projects, ", "))
		r.next = "Next: " + repeat() + " with " + argument("project", projects[0]) + ", or without a project."
	}
	return r
}

// whichTask refuses a call that names no task when the caller does not hold exactly one.
func whichTask(held []board.Claim) error {
	r := &refusal{what: "Not done.", state: "Nothing has changed.", code: "invalid", err: board.ErrInvalid}
	if len(held) == 0 {
		r.why, r.next = "The call names no task, and you hold none.", "Next: "+call("get_next_task")+" to get one."
		return r
	}
	r.why = "The call names no task, and this connection holds several."
	r.next = "Next: " + call("get_task", "task", held[0].Task.String()) + ", or another of " + claimList(held) + "."
	return r
}

// bareClaim refuses a task id in place of a claim. It tells only the holder the full claim.
func bareClaim(e action, id board.ID, held []board.Claim) error {
	r := &refusal{
		what: e.what, state: "Nothing has changed.", code: "invalid", err: board.ErrInvalid,
		why: fmt.Sprintf("%v is a task id; this argument takes a claim handle, which also names the attempt.", id),
	}
	r.next = "Next: " + repeat() + " with the claim that " + mention("get_next_task") + " gave you; if you lost it, " + call("get_next_task") + "."
	for _, c := range held {
		if c.Task == id {
			r.setHeld(c)
		}
	}
	return r
}

// brokenClaim refuses a text that is not a claim. It tells the claim to a caller that holds
// only one, or whose text begins with the task of one.
func brokenClaim(e action, err error, named string, held []board.Claim) error {
	r := &refusal{
		what: e.what, state: "Nothing has changed.", code: "invalid", why: errorText(err),
		next: "Next: " + repeat() + " with the claim that " + mention("get_next_task") + " gave you; if you lost it, " + call("get_next_task") + ".", err: err,
	}
	named = strings.ToLower(strings.TrimSpace(named))
	for _, c := range held {
		rest, ok := strings.CutPrefix(named, c.Task.String())
		if len(held) == 1 || ok && strings.IndexAny(rest, "0123456789") != 0 {
			r.setHeld(c)
		}
	}
	return r
}

// setHeld tells the caller which claim it holds.
func (r *refusal) setHeld(c board.Claim) {
	r.state = fmt.Sprintf("You hold %v.", c.Handle)
	r.next = "Next: " + repeat() + " with " + argument("claim", c.Handle.String()) + "."
}

// lookCall formats the call that shows the state of a task, or of the board.
func (k *caller) lookCall(id board.ID) string {
	switch {
	case !id.IsZero():
		return call("get_task", "task", id.String())
	case k.isLead(""):
		return call("list_tasks")
	}
	return call("get_next_task")
}

// errorText is the text of an error as a sentence, without the prefixes that name its kind.
func errorText(err error) string {
	s := err.Error()
	for _, kind := range []error{
		board.ErrNotFound, board.ErrInvalid, board.ErrConflict, board.ErrDenied, board.ErrLeaseLost, board.ErrUnknown, board.ErrUnavailable,
	} {
		s = strings.ReplaceAll(s, kind.Error()+": ", "")
		s = strings.ReplaceAll(s, ": "+kind.Error(), "")
	}
	return sentence(visible.Cut(visible.Line(s), 600))
}

// rpcError converts an error of the board to a JSON-RPC error.
func rpcError(what string, err error) error {
	code := jsonrpc.CodeInternal
	if errors.Is(err, board.ErrInvalid) || errors.Is(err, board.ErrNotFound) {
		code = jsonrpc.CodeInvalidParams
	}
	why := err.Error()
	_, ok := asRefusal(err)
	switch {
	case ok:
	case errors.Is(err, board.ErrUnknown): // its text may contain a driver's error
		why = "It is not known whether this was done: the database connection was lost during the write."
	case errors.Is(err, board.ErrFull):
		why = "The disk with the board is full; nothing was recorded. Free space on it, then try again."
	case errors.Is(err, board.ErrGone):
		why = errorText(err) + " Put it back, or reconnect this MCP server in the directory where the project is now."
	case errors.Is(err, board.ErrUnavailable):
		why = "The board cannot be reached; this does not mean that your task is gone. Try again in a minute."
	default:
		why = errorText(err)
	}
	return jsonrpc.Errorf(code, "%s: %s", what, visible.Text(why))
}

// missing is the error of a call that names other tasks, if one of them is not there: what
// says which.
func missing(err error, what string) error {
	if gone, ok := errors.AsType[*board.ArchivedError](err); ok {
		return fmt.Errorf("%w: %v is finished and was archived, so nothing has to wait for it", board.ErrInvalid, gone.Task)
	}
	if errors.Is(err, board.ErrNotFound) {
		return fmt.Errorf("%w: %s", board.ErrInvalid, what)
	}
	return err
}
