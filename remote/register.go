package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/tools"
)

// Register serves a board to laptops, on a server that has its tools.
func Register(s *mcp.Server, b *board.Board) {
	for _, o := range operations {
		s.HandleMethod(prefix+o.name, mcp.Method{
			ReadOnly: o.least == auth.Viewer,
			Handle: func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
				return o.handle(ctx, b, r)
			},
		})
	}
}

// Methods are the names of the methods, and the least role that may call each in
// some project.
func Methods() map[string]auth.Role {
	all := map[string]auth.Role{}
	for _, o := range operations {
		all[prefix+o.name] = o.least
	}
	return all
}

// An operation is a method of a board.
type operation struct {
	name  string
	least auth.Role
	serve func(ctx context.Context, c *call, args json.RawMessage) (any, error)
}

func (o *operation) handle(ctx context.Context, b *board.Board, r *mcp.Request) (mcp.Result, error) {
	who, ok := tools.CallerOf(ctx)
	if !ok || who.Role < auth.Viewer {
		return nil, encodeError(board.ErrNotFound)
	}
	if who.Role < o.least {
		return nil, encodeError(lacks(who.Role, o.least))
	}
	var p struct {
		As   as              `json:"as"`
		Args json.RawMessage `json:"args"`
	}
	if len(r.Params) > 0 {
		if err := unmarshal(r.Params, &p); err != nil {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the arguments of %s cannot be read", r.Method)
		}
	}
	c, err := newCall(b, who, o.least, p.As)
	if err != nil {
		return nil, encodeError(err)
	}
	c.wait = r.Wait
	out, err := o.serve(ctx, c, p.Args)
	if err != nil {
		return nil, encodeError(err)
	}
	raw, err := marshal(struct {
		Value any `json:"value"`
	}{out})
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

// subject is the task that a call has made or handed out; others stand in its
// arguments.
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

// op makes an operation of a function that takes its arguments as a value.
func op[In, Out any](name string, least auth.Role, serve func(ctx context.Context, c *call, in In) (Out, error)) *operation {
	return &operation{name, least, func(ctx context.Context, c *call, args json.RawMessage) (any, error) {
		var in In
		if len(args) > 0 {
			if err := unmarshal(args, &in); err != nil {
				return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the arguments of %s cannot be read", prefix+name)
			}
		}
		return serve(ctx, c, in)
	}}
}

// A call is one call of an operation: on which board, by whom.
type call struct {
	*board.Board
	caller *tools.Caller
	least  auth.Role
	actor  board.Actor
	wait   func() (resume func()) // says that the call only waits
}

// maxOwner bounds the name of a client's process.
const maxOwner = 40

func newCall(b *board.Board, who *tools.Caller, least auth.Role, p as) (*call, error) {
	c := &call{Board: b, caller: who, least: least, actor: who.Actor}
	if len(p.Owner) > maxOwner || strings.Trim(p.Owner, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != "" {
		return nil, board.ErrInvalid
	}
	c.actor.Owner = c.owner(p.Owner)
	c.actor.Worker = p.Worker
	c.actor.Person = who.Person && p.Person
	return c, nil
}

// owner is a client's process as the board knows it: within its key.
func (c *call) owner(process string) string {
	if process == "" {
		return c.caller.Owner
	}
	return c.caller.Owner + "/" + process
}

// process undoes owner. Of others' processes nothing is told.
func (c *call) process(owner string) string {
	own, ok := strings.CutPrefix(owner, c.caller.Owner)
	switch {
	case ok && own == "":
		return ""
	case ok && own[0] == '/':
		return own[1:]
	}
	return "another"
}

// may checks the caller's role in a project. What is not the caller's is not found.
func (c *call) may(project string) error {
	switch role := c.caller.Roles[project]; {
	case role < auth.Viewer:
		return board.ErrNotFound
	case role < c.least:
		return lacks(role, c.least)
	}
	return nil
}

// lacks is for a caller whose role is too small.
func lacks(role, least auth.Role) error {
	return fmt.Errorf("%w: it takes the role %v, and this key has the role %v; whoever runs the server can give you another", board.ErrDenied, least, role)
}

// among are the projects that are meant: those that are named, or all of the
// caller's. It is never nil, which would mean everybody's.
func (c *call) among(named []string) ([]string, error) {
	if named == nil {
		all := []string{}
		for slug := range c.caller.Roles {
			if c.may(slug) == nil {
				all = append(all, slug)
			}
		}
		slices.Sort(all)
		return all, nil
	}
	for _, slug := range named {
		if err := c.may(slug); err != nil {
			return nil, err
		}
	}
	return append([]string{}, named...), nil
}

// question finds a question of the caller's projects. Their numbers are everybody's,
// so one of another project is answered in the same words as one that is not there.
func (c *call) question(ctx context.Context, id board.QuestionID) (board.Question, error) {
	q, err := c.Question(ctx, id)
	if err == nil {
		err = c.may(q.Project)
	}
	if errors.Is(err, board.ErrNotFound) {
		return board.Question{}, fmt.Errorf("%w: question %v", board.ErrNotFound, id)
	}
	return q, err
}

// claims shows claims to the caller.
func (c *call) claims(cs []board.Claim) []board.Claim {
	for i := range cs {
		cs[i].Owner = c.process(cs[i].Owner)
	}
	return cs
}

// dossier shows a task to the caller.
func (c *call) dossier(d board.Dossier) board.Dossier {
	if d.Claim != nil {
		own := *d.Claim
		own.Owner = c.process(own.Owner)
		d.Claim = &own
	}
	for i := range d.Attempts {
		d.Attempts[i].Owner = c.process(d.Attempts[i].Owner)
	}
	return d
}
