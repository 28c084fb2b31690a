package tools

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
)

// A Caller is who makes a call, and what they may do.
type Caller struct {
	board.Actor
	// Roles are the projects that the caller may use, and as what. There are no
	// others for it. Role is the highest of them and decides what it is shown.
	Roles map[string]auth.Role
	Role  auth.Role
	// Project is meant where a call does not name one; empty: the only one.
	Project string
}

// allows reports whether the tool is for a role: all are for leads, and the others
// have those that they need.
func (d *definition) allows(r auth.Role) bool {
	switch r {
	case auth.None:
		return false
	case auth.Viewer:
		return d.viewer
	case auth.Worker:
		return !d.lead
	}
	return true
}

type callerKey struct{}

// authorize is the one place where a request meets what its sender may do. It is
// below all revisions and transports: what follows asks the Caller in the context.
func (t *Tools) authorize(next mcp.Handler) mcp.Handler {
	return func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
		c, err := t.who(ctx, r.Principal)
		if err != nil && r.Method == "tools/call" {
			k := &caller{Caller: &c, t: t}
			if res, other := refused(k.refuse(errand{not: "Not done."}, err)); other == nil {
				return res, nil
			}
		}
		if err != nil {
			return nil, rpcError("Not done", err)
		}
		return next(WithCaller(ctx, &c), r)
	}
}

// who tells of a principal.
func (t *Tools) who(ctx context.Context, p mcp.Principal) (Caller, error) {
	if t.o.Who != nil {
		return t.o.Who(ctx, p)
	}
	return Caller{Actor: board.Actor{Principal: cmp.Or(t.o.Principal, "local"), Owner: t.owner}, Roles: t.roles, Role: t.o.Role, Project: t.o.Project}, nil
}

// Visible shows callers what is for them; it is for mcp.ServerOptions.Visible.
func Visible(ctx context.Context, _ mcp.Principal, kind mcp.Kind, name string) bool {
	c, ok := ctx.Value(callerKey{}).(*Caller)
	if !ok {
		return false
	}
	switch kind {
	case mcp.KindTool:
		i := slices.IndexFunc(tools, func(d *definition) bool { return d.name == name })
		return i < 0 || tools[i].allows(c.Role) // another's tool is not ours to hide
	case mcp.KindPrompt:
		return c.Role >= prompts[name]
	}
	return c.Role >= auth.Viewer && c.sees(name)
}

// sees reports whether a resource is the caller's: a task's is if its project is.
func (c *Caller) sees(uri string) bool {
	name, ok := strings.CutPrefix(uri, taskURI)
	if !ok || uri == taskTemplate {
		return true
	}
	id, err := board.ParseID(name)
	return err == nil && c.Roles[id.Project] >= auth.Viewer
}

// A caller is who makes a call, the call, and what it is about.
type caller struct {
	*Caller
	t    *Tools
	call *mcp.Call // nil for a direct method
	// credential is set for a person's credential. What a tool does, an agent does,
	// also with that: Actor.Person is never set here.
	credential bool
	// projects are those in which the caller may do this.
	projects []string
}

// caller makes the caller of a request; allows tells which roles may do it.
func (t *Tools) caller(ctx context.Context, call *mcp.Call, allows func(auth.Role) bool) *caller {
	c, ok := ctx.Value(callerKey{}).(*Caller)
	if !ok {
		c = new(Caller) // may do nothing
	}
	own := *c
	if own.Person {
		own.Person = false
		own.Name = agentOf(own.Name)
	}
	k := &caller{Caller: &own, t: t, call: call, credential: c.Person, projects: []string{}} // nil would mean all
	for _, slug := range slices.Sorted(maps.Keys(c.Roles)) {
		if allows(c.Roles[slug]) {
			k.projects = append(k.projects, slug)
		}
	}
	return k
}

// agentOf is how people are shown what an agent does with a person's credential.
func agentOf(person string) string {
	if person == "" {
		return ""
	}
	return person + "'s agent"
}

// reader makes the caller of a request that only reads.
func (t *Tools) reader(ctx context.Context, call *mcp.Call) *caller {
	return t.caller(ctx, call, func(r auth.Role) bool { return r >= auth.Viewer })
}

func (k *caller) may(project string) bool { return slices.Contains(k.projects, project) }

// wait says that the call may wait for so long, and that others need not wait for it.
func (k *caller) wait(d time.Duration) (resume func()) {
	if d <= 0 || k.call == nil {
		return func() {}
	}
	return k.call.Wait()
}

// isLead reports whether the caller is a lead of the project, or of any if none is
// named.
func (k *caller) isLead(project string) bool {
	if project == "" {
		return k.Role >= auth.Lead
	}
	return k.Roles[project] >= auth.Lead
}

// project is the one that a call means.
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

// among are the projects that a call may look at.
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

// task reads the id that a call names; empty means the one that the caller holds.
func (k *caller) task(ctx context.Context, named string) (board.ID, error) {
	if named != "" {
		if h, err := board.ParseHandle(named); err == nil {
			named = h.Task.String()
		}
		id, err := board.ParseID(named)
		if err == nil && !k.may(id.Project) {
			return id, k.refuse(errand{not: "Not done.", task: id}, board.ErrNotFound)
		}
		if err != nil {
			return id, k.refuse(errand{not: "Not done."}, err)
		}
		return id, nil
	}
	held, err := k.held(ctx)
	if err != nil {
		return board.ID{}, k.refuse(errand{not: "Not done."}, err)
	}
	if len(held) == 1 {
		return held[0].Task, nil
	}
	return board.ID{}, whichTask(held)
}

// taskIDs reads ids.
func taskIDs(names []string) ([]board.ID, error) {
	var ids []board.ID
	for _, s := range board.SplitList(names...) {
		id, err := board.ParseID(s)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// claim reads a claim that a call names.
func (k *caller) claim(ctx context.Context, e errand, named string) (board.Handle, error) {
	h, err := board.ParseHandle(named)
	if err == nil {
		if !k.may(h.Task.Project) {
			e.task = h.Task
			return h, k.refuse(e, board.ErrNotFound)
		}
		k.Worker = k.t.workerOf(h)
		return h, nil
	}
	if id, bad := board.ParseID(named); bad == nil {
		held, err := k.held(ctx)
		if err != nil {
			return h, k.refuse(e, err)
		}
		return h, bareClaim(e, id, held)
	}
	return h, k.refuse(e, err)
}

// WithCaller is a context that knows who makes its request.
func WithCaller(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf is who makes the request that a context belongs to.
func CallerOf(ctx context.Context) (*Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(*Caller)
	return c, ok
}
