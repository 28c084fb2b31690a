package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// An operation is a verb between a laptop and its server: the laptop calls fetch, the
// server calls serve. In and Out are what goes over the wire, so both sides agree on
// it when they are compiled.
type operation[In, Out any] struct {
	verb  *access.Verb
	serve func(ctx context.Context, c *call, in In) (Out, error)
}

// operations are all there are, by verb.
var operations = map[*access.Verb]served{}

// wireTypes are what goes over the wire. A test keeps their form from changing.
var wireTypes []reflect.Type

// served is an operation as the server sees it.
type served func(ctx context.Context, c *call, args json.RawMessage) (any, error)

// op makes the operation of a verb. It panics if the verb has one already, or no row
// in the table of verbs.
func op[In, Out any](v *access.Verb, serve func(ctx context.Context, c *call, in In) (Out, error)) operation[In, Out] {
	if row, ok := access.ByMethod(v.Method()); !ok || row != v {
		panic("remote: " + v.Name + " is not in the table of verbs")
	}
	if _, ok := operations[v]; ok {
		panic("remote: " + v.Name + " has two operations")
	}
	wireTypes = append(wireTypes, reflect.TypeFor[In](), reflect.TypeFor[Out]())
	operations[v] = func(ctx context.Context, c *call, args json.RawMessage) (any, error) {
		var in In
		if len(args) > 0 {
			if err := unmarshal(args, &in); err != nil {
				return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the arguments of %s cannot be read", v.Method())
			}
		}
		return serve(ctx, c, in)
	}
	return operation[In, Out]{v, serve}
}

// fetch asks the server. a is who acts, nil for a call that does not depend on it.
func (o operation[In, Out]) fetch(ctx context.Context, b *Board, a *board.Actor, in In) (out Out, err error) {
	out, _, err = o.fetchPart(ctx, b, a, in)
	return out, err
}

// fetchPart is fetch for a list. more is set if the answer is a part of it.
func (o operation[In, Out]) fetchPart(ctx context.Context, b *Board, a *board.Actor, in In) (out Out, more bool, err error) {
	p := struct {
		As   as `json:"as"`
		Args In `json:"args"`
	}{Args: in}
	if a != nil {
		p.As = as{Worker: a.Worker, Person: a.Person, Shell: a.Shell}
		// Another shell is nobody's presence.
		if strings.HasPrefix(a.Owner, access.ProcessPrefix) || strings.HasPrefix(a.Owner, board.DirPrefix) {
			p.As.Owner = a.Owner
		}
	}
	params, err := marshal(p)
	if err != nil {
		return out, false, err
	}
	raw, err := b.send(ctx, o.verb, params)
	if err != nil {
		return out, false, err
	}
	var w struct {
		Value Out  `json:"value"`
		More  bool `json:"more"`
	}
	if err := unmarshal(raw, &w); err != nil {
		return out, false, fmt.Errorf("the server's answer to %s cannot be read: it may be of another version", o.verb.Method())
	}
	return w.Value, w.More, nil
}

// Register serves a board to laptops. The server needs middleware that puts an
// access.Caller into the context of each request; without it everything is refused.
func Register(s *mcp.Server, b *board.Board) {
	for v, serve := range operations {
		s.HandleMethod(v.Method(), mcp.Method{
			ReadOnly: !v.Writes,
			Handle: func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
				return handle(ctx, b, v, serve, r)
			},
		})
	}
}

// handle answers one request.
func handle(ctx context.Context, b *board.Board, v *access.Verb, serve served, r *mcp.Request) (mcp.Result, error) {
	who, _ := access.CallerFrom(ctx)
	if err := who.MayAnywhere(v); err != nil {
		return nil, EncodeError(err)
	}
	var p struct {
		As   as              `json:"as"`
		Args json.RawMessage `json:"args"`
	}
	if len(r.Params()) > 0 {
		if err := unmarshal(r.Params(), &p); err != nil {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the arguments of %s cannot be read", r.Method)
		}
	}
	c, err := newCall(b, who, v, p.As)
	if err != nil {
		return nil, EncodeError(err)
	}
	c.wait = r.Idle
	out, err := serve(ctx, c, p.Args)
	if err != nil {
		return nil, encodeError(err, c.marshal)
	}
	raw, err := c.marshal(struct {
		Value any  `json:"value"`
		More  bool `json:"more,omitzero"`
	}{out, c.more})
	return reply{raw, subject(out)}, err
}

// A reply is an answer as it goes to the client. It says which task came of the call,
// for the audit stream.
type reply struct {
	json.RawMessage
	task board.ID
}

// Subject is the task's id, or empty.
func (r reply) Subject() string {
	if r.task.IsZero() {
		return ""
	}
	return r.task.String()
}

// subject is the task that a call has created or handed out. The audit stream finds
// others in the arguments, by the names ID, Slug, Project, Task and Claim.
func subject(out any) (id board.ID) {
	switch v := out.(type) {
	case createOut:
		id = v.Task.ID
	case *board.Handout:
		if v != nil {
			id = v.Claim.Handle.Task
		}
	}
	return id
}

// maxOwner bounds the name of a client's process, and maxWorker that of a worker.
const (
	maxOwner  = 40
	maxWorker = 60
)

// A call is one call of an operation: on which board, by whom.
type call struct {
	*board.Board
	verb *access.Verb
	// caller is who the server knows the client to be; in actor it may have said less
	// about itself.
	caller *access.Caller
	actor  board.Actor
	wait   func() (resume func()) // releases the call's concurrency slot
	more   bool                   // the answer is a part of a list
}

func newCall(b *board.Board, who *access.Caller, v *access.Verb, p as) (*call, error) {
	own := *who
	c := &call{Board: b, verb: v, caller: &own, actor: who.Actor}
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"
	if len(p.Owner) > maxOwner || strings.Trim(p.Owner, plain) != "" || len(p.Worker) > maxWorker || strings.Trim(p.Worker, plain) != "" {
		return nil, board.ErrInvalid
	}
	c.actor.Owner = c.owner(p.Owner)
	c.actor.Worker = ""
	if board.GivesName(p.Worker) { // another one would be shown as the author's, and could be a person's
		c.actor.Worker = p.Worker
	}
	c.actor.Person = who.Person && p.Person
	c.actor.Shell = p.Shell
	return c, nil
}

// may checks that the caller may do this in a project.
func (c *call) may(project string) error { return c.caller.May(c.verb, project) }

// among returns the projects that are meant: those named, or all of the caller's.
func (c *call) among(named []string) ([]string, error) { return c.caller.Among(c.verb, named) }

// isLead reports whether the caller leads a project.
func (c *call) isLead(project string) bool { return c.caller.Roles[project] >= auth.Lead }

// owner is a client's process as the board knows it: within its key.
func (c *call) owner(process string) string {
	if process == "" {
		return c.caller.Owner
	}
	return c.caller.Owner + "/" + process
}

// process undoes owner. It tells nothing about other callers' processes.
func (c *call) process(owner string) string {
	own, ok := strings.CutPrefix(owner, c.caller.Owner)
	switch {
	case ok && own == "":
		return ""
	case ok && own[0] == '/':
		return own[1:]
	}
	return board.AnotherOwner
}
