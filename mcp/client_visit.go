package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// visits are the pages that the person agreed to visit for a request. They agree
// before they are there: a server that asks again waits for what happens there, and
// the person is not asked again.
type visits map[string]bool

// answerAll answers the questions that came with a result. It reports whether they
// were all about pages that the person visits already: then the server should be
// given time.
func (c *Client) answerAll(ctx context.Context, questions json.RawMessage, seen visits) (answers map[string]any, again bool, err error) {
	answers, again = map[string]any{}, true
	for key, raw := range jsonrpc.Members(questions) {
		method := jsonrpc.Text(member(raw, "method"))
		answer, known, err := c.answerOnce(ctx, method, member(raw, "params"), seen)
		if err != nil {
			return nil, false, fmt.Errorf("the server asks %s: %w", method, err)
		}
		again = again && known
		answers[strings.Clone(key)] = answer
	}
	return answers, again && len(answers) > 0, nil
}

// answerOnce is answer, except for a page that the person visits already.
func (c *Client) answerOnce(ctx context.Context, method string, params json.RawMessage, seen visits) (v any, known bool, err error) {
	page := ""
	if method == "elicitation/create" && jsonrpc.Text(member(params, "mode")) == "url" {
		page = strings.Clone(jsonrpc.Text(member(params, "url")))
	}
	if seen[page] {
		return &ElicitResult{Action: "accept"}, true, nil
	}
	v, err = c.answer(ctx, method, params)
	if res, ok := v.(*ElicitResult); ok && err == nil && page != "" && res.Action == "accept" {
		seen[page] = true
	}
	return v, false, err
}

// visit lets the person visit the pages that an error names. It reports whether
// they do already.
func (c *Client) visit(ctx context.Context, e *jsonrpc.Error, seen visits) (again bool, err error) {
	var data struct {
		Pages []json.RawMessage `json:"elicitations"`
	}
	if jsonv2.Unmarshal(e.Data, &data) != nil || len(data.Pages) == 0 {
		return false, e
	}
	again = true
	for _, raw := range data.Pages {
		v, known, err := c.answerOnce(ctx, "elicitation/create", raw, seen)
		if err != nil {
			return false, err
		}
		if res, ok := v.(*ElicitResult); !ok || res.Action != "accept" {
			return false, errors.Join(ErrDeclined, e)
		}
		again = again && known
	}
	return again, nil
}
