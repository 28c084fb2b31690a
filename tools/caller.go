package tools

import (
	"context"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
)

// Authorize is middleware that finds out who makes a request, and puts the
// access.Caller into its context. It belongs below all revisions and transports, and
// above everything that serves a board: a request without a caller may do nothing.
func Authorize(who func(ctx context.Context, p mcp.Principal) (*access.Caller, error)) func(mcp.Handler) mcp.Handler {
	return func(next mcp.Handler) mcp.Handler {
		return func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
			c, err := who(ctx, r.Principal)
			if err != nil && r.Method == "tools/call" {
				k := &caller{Caller: &access.Caller{}}
				if res, other := refused(k.refuse(action{what: "Not done."}, err)); other == nil {
					return res, nil
				}
			}
			if err != nil {
				return nil, rpcError("Not done", err)
			}
			return next(access.WithCaller(ctx, c), r)
		}
	}
}

// AuthorizeAs is Authorize for a server whose requests all come from one caller.
func AuthorizeAs(c *access.Caller) func(mcp.Handler) mcp.Handler {
	return Authorize(func(context.Context, mcp.Principal) (*access.Caller, error) { return c, nil })
}

// Visible reports whether the caller may see a tool, a prompt or a resource; it is meant
// for mcp.ServerOptions.Visible.
func Visible(ctx context.Context, _ *mcp.Request, kind mcp.Kind, name string) bool {
	c, ok := access.CallerFrom(ctx)
	if !ok {
		return false
	}
	switch kind {
	case mcp.KindTool:
		v, ok := access.ByTool(name)
		return !ok || v.Shows(c.Role) // a tool of another package is not ours to hide
	case mcp.KindPrompt:
		return prompts[name].Shows(c.Role)
	}
	return c.MayAnywhere(access.Get) == nil && sees(c, name)
}

// sees reports whether a resource is the caller's: a task's is if its project is.
func sees(c *access.Caller, uri string) bool {
	name, ok := strings.CutPrefix(uri, taskURI)
	if !ok || uri == taskTemplate {
		return true
	}
	id, err := board.ParseIDIn(c.Project, name)
	return err == nil && c.May(access.Get, id.Project) == nil
}

// A caller is the caller of one call, with the call and the projects it may use.
type caller struct {
	*access.Caller
	t    *Tools
	verb *access.Verb
	call *mcp.Call // nil for a direct method
	// waiter is the call, or the request of a direct method.
	waiter interface{ Idle() (resume func()) }
	// credential is set if the credential is a person's. Even then a tool is called by an
	// agent, so Actor.Person is never set here.
	credential bool
	// projects are those in which the caller may do this.
	projects []string
}

// caller makes the caller of a tool call that uses a verb.
func (t *Tools) caller(ctx context.Context, call *mcp.Call, v *access.Verb) *caller {
	k := t.directCaller(ctx, nil, v)
	k.call, k.waiter = call, call
	return k
}

// directCaller makes the caller of a direct method that uses a verb.
func (t *Tools) directCaller(ctx context.Context, r *mcp.Request, v *access.Verb) *caller {
	c, _ := access.CallerFrom(ctx)
	own := *c
	if own.Person {
		own.Person = false
		own.Name = agentOf(own.Name)
	}
	return &caller{Caller: &own, t: t, verb: v, waiter: r, credential: c.Person, projects: own.Projects(v)}
}

// agentSuffix ends the name of an agent that is called after its person.
const agentSuffix = "'s agent"

// agentOf is the name that people see for an agent that uses a person's credential.
func agentOf(person string) string {
	if person == "" {
		return ""
	}
	return person + agentSuffix
}

// may reports whether the caller may do this in a project.
func (k *caller) may(project string) bool { return k.May(k.verb, project) == nil }

// wait is called before a wait of at most d: until resume is called, the call holds up no
// other.
func (k *caller) wait(d time.Duration) (resume func()) {
	if d <= 0 {
		return func() {}
	}
	return k.waiter.Idle()
}

// isLead reports whether the caller is a lead of the project, or of any if none is
// named.
func (k *caller) isLead(project string) bool {
	if project == "" {
		return k.Role >= auth.Lead
	}
	return k.Roles[project] >= auth.Lead
}

// project returns the project of a call: the one it names, else the default.
func (k *caller) project(named string) (string, error) {
	switch {
	case named == "" && k.may(k.Project):
		return k.Project, nil
	case named == "" && len(k.projects) == 1:
		return k.projects[0], nil
	case k.may(named):
		return named, nil
	}
	return "", noProject(k.projects, named)
}

// among returns the projects of a call: the one it names, else all it may use.
func (k *caller) among(named string) ([]string, error) {
	if named == "" && len(k.projects) > 0 {
		return k.projects, nil
	}
	p, err := k.project(named)
	return []string{p}, err
}

// held lists the live claims of the caller's process or key.
func (k *caller) held(ctx context.Context) ([]board.Claim, error) {
	if k.Owner == "" {
		return nil, nil
	}
	return k.t.b.Claims(ctx, board.ClaimFilter{Owner: k.Owner})
}

// task parses the task id of a call. An empty one means the task that the caller holds.
func (k *caller) task(ctx context.Context, named string) (board.ID, error) {
	if named != "" {
		if h, err := board.ParseHandle(named); err == nil {
			named = h.Task.String()
		}
		id, err := k.taskID(named)
		if err == nil && !k.may(id.Project) {
			return id, k.refuse(action{what: "Not done.", task: id}, board.ErrNotFound)
		}
		if err != nil {
			return id, k.refuse(action{what: "Not done."}, err)
		}
		return id, nil
	}
	held, err := k.held(ctx)
	if err != nil {
		return board.ID{}, k.refuse(action{what: "Not done."}, err)
	}
	if len(held) == 1 {
		return held[0].Task, nil
	}
	return board.ID{}, whichTask(held)
}

// taskID parses a task id. A bare number is a task of the default project.
func (k *caller) taskID(s string) (board.ID, error) {
	project, err := k.project("")
	if err != nil {
		project = ""
	}
	return board.ParseIDIn(project, s)
}

// taskIDs parses task ids. A bare number is a task of the project.
func taskIDs(project string, names []string) ([]board.ID, error) {
	var ids []board.ID
	for _, s := range board.SplitList(names...) {
		id, err := board.ParseIDIn(project, s)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// claim parses the claim of a call.
func (k *caller) claim(ctx context.Context, e action, named string) (board.Handle, error) {
	h, err := board.ParseHandle(named)
	if id, bad := k.taskID(named); bad == nil && id == k.t.claimBound().Task {
		h, err = k.t.claimBound(), nil // it has no other claim on the task
	}
	if err == nil {
		if err := k.t.onlyBound(e, h); err != nil {
			return h, err
		}
		if !k.may(h.Task.Project) {
			e.task = h.Task
			return h, k.refuse(e, board.ErrNotFound)
		}
		k.Worker = k.t.workerOf(h)
		k.t.used(h)
		if h.IsReview() {
			return h, reviewClaim(e, h)
		}
		return h, nil
	}
	held, failed := k.held(ctx)
	if failed != nil {
		return h, k.refuse(e, failed)
	}
	if id, bad := k.taskID(named); bad == nil {
		return h, bareClaim(e, id, held)
	}
	return h, brokenClaim(e, err, named, held)
}
