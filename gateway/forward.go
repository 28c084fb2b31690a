package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// A request is what a caller wants from an upstream.
type request struct {
	upstream *upstream
	method   string
	params   json.RawMessage // without _meta
	entry    *entry          // of a tool or prompt
	claim    string
	step     string
	args     json.RawMessage // of a tool
	durable  bool            // it becomes a task if it takes long
}

// callInfo is what middleware knows of a request, and handlers do not.
type callInfo struct {
	meta        json.RawMessage // _meta of the request
	claim, step string          // of call_tool
}

type callInfoKey struct{}

func infoOf(ctx context.Context) callInfo {
	info, _ := ctx.Value(callInfoKey{}).(callInfo)
	return info
}

// callTool forwards a call of a tool.
func (g *Gateway) callTool(ctx context.Context, c *mcp.Call, name string) (json.RawMessage, error) {
	e := g.tool(ctx, name)
	if e == nil {
		return nil, unknownTool(name)
	}
	info := infoOf(ctx)
	r := &request{upstream: e.upstream, method: "tools/call", entry: e, claim: info.claim, step: info.step, args: c.Arguments()}
	if e.guarded {
		var err error
		for argument, into := range map[string]*string{claimArgument: &r.claim, stepArgument: &r.step} {
			r.args, err = editMember(r.args, argument, func(v json.RawMessage) (json.RawMessage, error) {
				if v != nil {
					*into = rawjson.Text(v)
				}
				return nil, nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	r.params = appendMember(appendMember([]byte{'{'}, "name", quote(e.name)), "arguments", r.args)
	r.params = append(r.params, '}')
	return g.forward(ctx, c, r)
}

// getPrompt forwards a request for a prompt.
func (g *Gateway) getPrompt(ctx context.Context, c *mcp.Call, name string) (json.RawMessage, error) {
	g.mu.Lock()
	e := g.offer.prompts[name]
	g.mu.Unlock()
	if e == nil {
		return nil, mcp.ErrNotFound
	}
	r := &request{upstream: e.upstream, method: "prompts/get", entry: e}
	r.params = appendMember([]byte{'{'}, "name", quote(e.name))
	if args := c.Arguments(); len(args) > 0 {
		r.params = appendMember(r.params, "arguments", args)
	}
	r.params = append(r.params, '}')
	return g.forward(ctx, c, r)
}

// send makes sure that the upstream runs and that the call is allowed, and sends it. o answers the
// upstream's questions.
func (g *Gateway) send(ctx context.Context, principal string, r *request, o *mcp.CallOptions, ask func(*mcp.Client, *Admitted)) (json.RawMessage, error) {
	u := r.upstream
	i := g.instance(u, principal)
	client, done, err := i.connect(ctx)
	if err != nil {
		return nil, g.explain(u, err, false)
	}
	defer done()
	if err := i.queue.acquire(ctx, principal); err != nil {
		return nil, g.explain(u, err, false)
	}
	defer i.queue.release()
	if r.entry != nil && !u.isRelay() {
		if err := i.fresh(ctx, client); err != nil {
			return nil, g.explain(u, err, false)
		}
		if err := g.checkPin(ctx, i, r.entry); err != nil {
			return nil, err
		}
	}
	limit := u.Timeout
	admitted := &Admitted{}
	if r.method == "tools/call" && (g.o.Guard != nil || r.entry.class == ClassClaim) {
		if g.o.Guard == nil {
			return nil, mcp.Errorf("%s needs a claim, and this server has no board that could check it", r.entry.published)
		}
		canon, err := canonical(r.args)
		if err != nil {
			return nil, err
		}
		admitted, err = g.o.Guard.Admit(ctx, GuardedCall{
			Upstream: r.entry.origin, Tool: strings.TrimPrefix(r.entry.name, r.entry.origin+separator), Class: r.entry.class, Claim: r.claim, Step: r.step,
			Arguments: canon, Keep: u.JournalArguments, Limit: limit, Relayed: u.isRelay(),
		})
		if err != nil {
			return nil, err
		}
		if admitted.Recorded != nil {
			return admitted.Recorded, nil
		}
		if admitted.Limit > 0 && admitted.Limit < limit {
			limit = admitted.Limit
		}
	}
	params := r.params
	if u.isRelay() && r.method == "tools/call" {
		if params, err = relayParams(r, cmp.Or(admitted.Claim, r.claim)); err != nil {
			return nil, err
		}
	}
	if meta := infoOf(ctx).meta; len(meta) > 2 && meta[0] == '{' {
		kept := []byte{'{'}
		for name, v := range rawjson.Members(meta) {
			if !reserved(name) {
				kept = appendMember(kept, name, v)
			}
		}
		if len(kept) > 1 {
			params = append(appendMember(slices.Clone(params[:len(params)-1]), "_meta", append(kept, '}')), '}')
		}
	}
	if ask != nil {
		ask(client, admitted)
	}
	if o.Timeout = limit; r.durable {
		o.Timeout, o.MaxTime = maxTaskTime, maxTaskTime
	}
	calling, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limitQuestions(o, cancel)
	if admitted.Follow != nil {
		go func() { // ends with the call
			if err := admitted.Follow(calling); err != nil {
				cancel(&lostError{err})
			}
		}()
	}
	raw, err := client.Forward(calling, r.method, params, o)
	if err != nil {
		if lost, ok := errors.AsType[*lostError](context.Cause(calling)); ok {
			err = lost
		}
	}
	err = u.redactError(err)
	if err == nil {
		raw, err = dropMeta(raw, func(name string) bool {
			return reserved(name) && !(u.isRelay() && strings.HasPrefix(name, "dev.bossman/"))
		})
	}
	if admitted.Done != nil {
		replaced, doneErr := admitted.Done(context.WithoutCancel(ctx), endOf(raw, err))
		if doneErr != nil {
			return nil, doneErr
		}
		if err == nil && replaced != nil {
			raw = replaced
		}
	}
	if err != nil {
		return nil, g.explain(u, err, true)
	}
	g.owners.named(principal, u, raw)
	return raw, nil
}

// endOf tells how a call ended that was sent.
func endOf(raw json.RawMessage, err error) CallEnd {
	_, refused := errors.AsType[*jsonrpc.Error](err)
	switch {
	case refused:
		return CallEnd{Outcome: OutcomeRPCError, Err: err}
	case err != nil:
		return CallEnd{Outcome: OutcomeUnknown, Err: err}
	case string(member(raw, "isError")) == "true":
		return CallEnd{Outcome: OutcomeToolError, Result: raw}
	}
	return CallEnd{Outcome: OutcomeOK, Result: raw}
}

// checkPin refuses a call of a definition that was not approved, as this connection listed it.
func (g *Gateway) checkPin(ctx context.Context, i *instance, e *entry) error {
	hash := i.hash(e.kind, e.name)
	if hash == "" {
		return mcp.Errorf("the server %s does not have %s any more", e.upstream.Name, e.name)
	}
	ok, _ := e.upstream.approved(e.kind, e.name, hash)
	if !ok && g.reloadOne(ctx, e.upstream) {
		ok, _ = e.upstream.approved(e.kind, e.name, hash)
		g.publish()
	}
	if !ok {
		return mcp.Errorf("the definition of %s has changed, and nobody has approved it yet. A person looks at it with: bossman gateway diff %s. Use another tool, or ask a person", e.published, e.upstream.Name)
	}
	return nil
}

// reserved reports whether a member of _meta belongs to one hop of the protocol, or to us.
func reserved(name string) bool {
	prefix, _, _ := strings.Cut(name, "/")
	return name == "progressToken" || prefix == "bossman" || prefix == "dev.bossman" ||
		prefix == "modelcontextprotocol" || strings.HasSuffix(prefix, ".modelcontextprotocol") || strings.HasPrefix(prefix, "io.modelcontextprotocol")
}

// explain returns the error for the caller. What an upstream answered is passed on, unless it is about
// our connection to it.
func (g *Gateway) explain(u *upstream, err error, sent bool) error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		switch e.Code {
		case mcp.CodeHeaderMismatch, mcp.CodeMissingCapability, mcp.CodeUnsupportedVersion:
			return jsonrpc.Errorf(jsonrpc.CodeInternal, "%s: %s", u.Name, u.redact(e.Message))
		}
		return u.redactError(e)
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	if lost, ok := errors.AsType[*lostError](err); ok {
		return mcp.Errorf("%s: the call was cancelled: %v. Its outcome is unknown", u.Name, lost.err)
	}
	text := spellOut(u.redact(err.Error()))
	if sent {
		return mcp.Errorf("the server %s did not answer: %s. The outcome of the call is unknown: check its effect before you repeat it", u.Name, text)
	}
	return mcp.Errorf("%s: the call was not sent: %s", u.Name, text)
}

func unknownTool(name string) error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Unknown tool: %.200s", name)
}
