package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/jsonrpc"
)

// A resultHead holds the members that distinguish kinds of results.
type resultHead struct {
	kind, requests, state, task json.RawMessage
}

func parseResultHead(result json.RawMessage) (h resultHead) {
	for name, v := range rawjson.Members(result) {
		switch name {
		case "resultType":
			if h.kind = v; string(v) == `"complete"` {
				return h // the rest is for the caller
			}
		case "inputRequests":
			h.requests = v
		case "requestState":
			h.state = v
		case "taskId":
			h.task = v
		}
	}
	return h
}

// codeURLRequired is the error code by which servers of 2025-11-25 ask the user
// to visit pages first.
const codeURLRequired = -32042

// resolve sends a request until there is a final result, answering the server's
// questions in between.
func (c *Client) resolve(ctx context.Context, rq *clientRequest, o *CallOptions) (json.RawMessage, error) {
	rq = c.with(rq, o)
	base := slices.DeleteFunc(slices.Clone(rq.params), func(p param) bool { return p.name == "inputResponses" || p.name == "requestState" })
	headers := false
	seen := visitedURLs{}
	for round := range maxRounds + 2 {
		raw, err := c.call(ctx, rq)
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
			switch {
			case e.Code == CodeHeaderMismatch && c.exchanger != nil && !headers && rq.method == "tools/call":
				headers = true // the schema of the tool may have changed
				c.mu.Lock()
				c.lists.invalidate(KindTool)
				c.mu.Unlock()
				continue
			case e.Code == codeURLRequired && (c.o.Elicit != nil || rq.own != nil && rq.own.elicit != nil) && !c.Revision().Stateless():
				allVisited, err := c.visitURLs(ctx, rq.own, e, seen)
				if err == nil && allVisited {
					err = sleep(ctx, backoff(round+2))
				}
				if err != nil {
					return nil, err
				}
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		if len(raw) == 0 || raw[0] != '{' {
			return nil, errors.New("result is not an object")
		}
		if !c.Revision().Stateless() {
			return raw, nil
		}
		head := parseResultHead(raw)
		switch kind := rawjson.Text(head.kind); {
		case head.kind == nil, kind == "complete":
			return raw, nil
		case kind == "task" && c.o.Tasks && rq.method == "tools/call":
			id := rawjson.Text(head.task)
			if o != nil && o.OnTask != nil && id != "" {
				o.OnTask(id)
			}
			return c.followTask(ctx, id, rq.own, nil)
		case kind != "input_required":
			return nil, fmt.Errorf("unknown kind of result %.40s", head.kind)
		}
		next := *rq
		next.params = slices.Clip(base)
		wait := time.Duration(0)
		if head.requests == nil {
			wait = backoff(round)
		} else {
			answers, allVisited, err := c.answerInputs(ctx, rq.own, head.requests, seen)
			if err != nil {
				return nil, err
			}
			if allVisited {
				wait = backoff(round + 2)
			}
			next.params = append(next.params, param{"inputResponses", answers})
		}
		if wait > 0 {
			if err := sleep(ctx, wait); err != nil {
				return nil, err
			}
		}
		if head.state != nil {
			next.params = append(next.params, param{"requestState", rawJSON(head.state)})
		}
		rq = &next
	}
	return nil, fmt.Errorf("the server keeps asking after %d rounds", maxRounds+2)
}
