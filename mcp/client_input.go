package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/jsonrpc"
)

// visitedURLs are the pages that the user agreed to visit for a request. A
// server that asks again is waiting for the visit, so the user is not asked
// twice.
type visitedURLs map[string]bool

// answerInputs answers the inputRequests of a result. It reports whether all of
// them are pages that the user is already visiting; the caller should then wait
// before it retries.
func (c *Client) answerInputs(ctx context.Context, own *answerers, questions json.RawMessage, seen visitedURLs) (answers map[string]any, allVisited bool, err error) {
	answers, allVisited = map[string]any{}, true
	for key, raw := range rawjson.Members(questions) {
		method := rawjson.Text(member(raw, "method"))
		answer, visited, err := c.answerInput(ctx, own, method, member(raw, "params"), seen)
		if err != nil {
			return nil, false, fmt.Errorf("answer %s: %w", method, err)
		}
		allVisited = allVisited && visited
		answers[strings.Clone(key)] = answer
	}
	return answers, allVisited && len(answers) > 0, nil
}

// answerInput is callHandler, except for a page that the user is already
// visiting.
func (c *Client) answerInput(ctx context.Context, own *answerers, method string, params json.RawMessage, seen visitedURLs) (v any, visited bool, err error) {
	page := ""
	if method == "elicitation/create" && rawjson.Text(member(params, "mode")) == "url" {
		page = strings.Clone(rawjson.Text(member(params, "url")))
	}
	if seen[page] {
		return &ElicitResult{Action: "accept"}, true, nil
	}
	v, err = c.callHandler(ctx, own, method, params)
	if res, ok := v.(*ElicitResult); ok && err == nil && page != "" && res.Action == "accept" {
		seen[page] = true
	}
	return v, false, err
}

// visitURLs asks the user to visit the pages that an error names. It reports
// whether the user is already visiting all of them.
func (c *Client) visitURLs(ctx context.Context, own *answerers, e *jsonrpc.Error, seen visitedURLs) (allVisited bool, err error) {
	var data struct {
		Pages []json.RawMessage `json:"elicitations"`
	}
	if jsonv2.Unmarshal(e.Data, &data) != nil || len(data.Pages) == 0 {
		return false, e
	}
	allVisited = true
	for _, raw := range data.Pages {
		v, visited, err := c.answerInput(ctx, own, "elicitation/create", raw, seen)
		if err != nil {
			return false, err
		}
		if res, ok := v.(*ElicitResult); !ok || res.Action != "accept" {
			return false, errors.Join(ErrDeclined, e)
		}
		allVisited = allVisited && visited
	}
	return allVisited, nil
}
