package mcp

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// The sessionDriver asks a client with a session, by requests to it within the
// call.
type sessionDriver struct{}

func (sessionDriver) begin(*Call) error { return nil }

func (sessionDriver) ask(c *Call, asks []pendingAsk) (Result, error) {
	missing := c.missingCapability(asks)
	for i := range asks {
		if missing == nil && !asks[i].supportedBy(c.Request.Revision) {
			missing = &asks[i]
		}
	}
	if missing != nil {
		return nil, c.Request.capabilityError(missing.method, missing.requires)
	}
	defer jsonrpc.Idle(c.ctx)()
	for _, n := range asks {
		if p, ok := n.params.(*ElicitParams); ok && p.Mode == "url" && p.ElicitationID == "" {
			q := *p
			q.ElicitationID = newTaskID()
			n.params = &q
		}
		ctx, end := n.untilCtx(c.ctx)
		raw, err := c.Request.out.Call(ctx, n.method, shapeAsk(n, c.Request.Revision))
		if end() && err != nil {
			put(&c.history().failed, n.key, ErrWithdrawn)
			continue
		}
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
			put(&c.history().failed, n.key, fmt.Errorf("%w: %s", ErrDeclined, e.Message))
			continue
		}
		if err != nil {
			return nil, err
		}
		put(&c.history().answers, n.key, restoreAnswer(n, raw, c.Request.Revision))
	}
	return nil, nil
}

// restoreAnswer reverts what shapeAsk did to a form.
func restoreAnswer(n pendingAsk, raw json.RawMessage, r Revision) json.RawMessage {
	p, ok := n.params.(*ElicitParams)
	if !ok {
		return raw
	}
	fixed, err := editMembers(raw, func(name string, v json.RawMessage) (json.RawMessage, error) {
		if name == "content" {
			v = restoreElicit(p, v, r)
		}
		return v, nil
	})
	if err != nil {
		return raw
	}
	return fixed
}
