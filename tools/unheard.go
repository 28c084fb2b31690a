package tools

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
)

// A request identifies a request over HTTP by its session, its JSON-RPC id and its arguments.
// A claim is stored with the request that it was granted to: its answer may get lost.
type request struct{ session, rest string }

// request returns the zero value if the call is not made in a session.
func (k *caller) request() request {
	if k.call == nil || k.call.Request.SessionID() == "" {
		return request{}
	}
	return request{
		session: "mcp-" + digest(k.call.Request.SessionID()),
		rest:    digest(k.call.Request.ID.String(), string(k.call.Arguments())),
	}
}

// digest hashes texts: what is stored says nothing about them.
func digest(texts ...string) string {
	h := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return base64.RawURLEncoding.EncodeToString(h[:12])
}

func (r request) String() string {
	if r.session == "" {
		return ""
	}
	return r.session + "." + r.rest
}

// unheard returns the claims that were granted to the request's session and that no call has
// named since: the answer may have got lost, and a model repeats its call with a new id.
func (k *caller) unheard(ctx context.Context, held []board.Claim, r request) (claims []board.Claim, err error) {
	if r.session == "" {
		return nil, nil
	}
	for _, c := range held {
		if !strings.HasPrefix(c.Session, r.session+".") || c.Deliveries > 0 {
			continue
		}
		if !c.IsReview() {
			d, err := k.t.b.Get(ctx, c.Task, 10)
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(d.Events, func(e board.Event) bool { return e.Kind != board.EventClaimed && signOf(c, e) }) {
				continue
			}
		}
		claims = append(claims, c)
	}
	return claims, nil
}

// signOf reports whether an event is a sign of work under a claim.
func signOf(c board.Claim, e board.Event) bool {
	return e.Detail.Attempt == c.Attempt && e.Detail.Nonce == c.Nonce
}
