package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

const (
	// maxHeld is how many tasks one key may hold at a time, and maxAsked how many of its
	// questions may be open.
	maxHeld  = 1000
	maxAsked = 200
	// usageCache is how long a count is reused, so both limits are approximate.
	usageCache = time.Second
)

// limit is the middleware that keeps one owner from using up what all share.
func (s *Server) limit(next mcp.Handler) mcp.Handler {
	return func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
		v, bucket := limitOf(r)
		if bucket != auth.Calls { // those are counted when the request is authenticated
			if after, ok := s.limiter.Allow(r.Principal.Owner, bucket); !ok {
				secs := int(math.Ceil(after.Seconds()))
				return refuse(r, fmt.Sprintf("Not done. Nothing has changed. There are too many such calls with the keys of one owner. Next: repeat the call in %d s.", secs))
			}
		}
		if v == access.Next || v == access.Ask {
			if text, err := s.full(ctx, r.Principal.ID, bucket); err != nil || text != "" {
				if err != nil {
					return nil, err
				}
				return refuse(r, text)
			}
		}
		return next(ctx, r)
	}
}

// limitOf finds the verb of a request, nil if it has none, and the rate limit that the
// request counts against.
func limitOf(r *mcp.Request) (*access.Verb, auth.Bucket) {
	tool := ""
	if r.Method == "tools/call" {
		tool = r.Target().Name
	}
	if v, ok := access.ByRequest(r.Method, tool); ok {
		return v, v.Bucket
	}
	if r.Method == "subscriptions/listen" {
		return nil, auth.Streams
	}
	return nil, auth.Calls
}

// refuse is the result of a refused request: a tool's error, or an error of JSON-RPC.
func refuse(r *mcp.Request, text string) (mcp.Result, error) {
	if r.Method == "tools/call" {
		return &mcp.ToolResult{Content: []mcp.Content{mcp.Text(text)}, IsError: true}, nil
	}
	return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", text)
}

// full is the refusal for a principal that has the maximum of claims or open questions,
// empty if it has fewer.
func (s *Server) full(ctx context.Context, principal string, what auth.Bucket) (string, error) {
	have, err := s.counts.of(ctx, s.board, principal)
	switch {
	case errors.Is(err, board.ErrUnavailable):
		return "", nil // the call itself will fail, with its own error
	case err != nil:
		return "", err
	case what == auth.Questions && have.OpenQuestions >= maxAsked:
		return fmt.Sprintf("Not asked. Nothing has changed. This key has %d open questions, the maximum. Next: wait for answers, or continue as you think best.", have.OpenQuestions), nil
	case what != auth.Questions && have.Claims >= maxHeld:
		return fmt.Sprintf("No task handed out. Nothing has changed. This key holds %d tasks, the maximum. Next: report on one of them.", have.Claims), nil
	}
	return "", nil
}

// A usageCounts caches the usage of principals.
type usageCounts struct {
	mu   sync.Mutex
	seen map[string]counted // by principal
}

type counted struct {
	board.Usage
	at time.Time
}

func (c *usageCounts) of(ctx context.Context, b *board.Board, principal string) (board.Usage, error) {
	c.mu.Lock()
	last, ok := c.seen[principal]
	c.mu.Unlock()
	if ok && time.Since(last.at) < usageCache {
		return last.Usage, nil
	}
	u, err := b.Usage(ctx, principal)
	if err != nil {
		return board.Usage{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil || len(c.seen) > 10_000 {
		c.seen = map[string]counted{}
	}
	c.seen[principal] = counted{u, time.Now()}
	return u, nil
}
