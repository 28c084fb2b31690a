package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// responses is OpenAI's Responses API, for Codex. It groups the tools of a server
// in a namespace, and a call names both.
func (s server) responses(w http.ResponseWriter, r *http.Request) {
	type tool struct {
		Type, Name string
		Tools      []tool
	}
	var q struct {
		Tools []tool
		Input []struct {
			Type   string
			Output json.RawMessage
			Tools  []tool // found by a search
		}
	}
	raw, ok := read(w, r, &q)
	if !ok {
		return
	}
	var offered, shown []string
	namespace := map[string]string{}
	for _, item := range q.Input {
		q.Tools = append(q.Tools, item.Tools...)
	}
	for _, t := range q.Tools {
		if t.Type == "tool_search" {
			t.Name = SearchTool
		}
		if t.Type != "namespace" {
			offered = append(offered, t.Name)
			continue
		}
		for _, inner := range t.Tools {
			offered = append(offered, inner.Name)
			namespace[inner.Name] = t.Name
		}
	}
	for _, item := range q.Input {
		if item.Type == "function_call_output" {
			shown = append(shown, plainText(item.Output))
		}
	}
	a, ok := s.next(w, Request{r, raw, offered, shown})
	if !ok {
		return
	}
	item := map[string]any{
		"type": "message", "role": "assistant", "id": "msg_1",
		"content": []any{map[string]any{"type": "output_text", "text": a.Text}},
	}
	if a.Search != "" {
		item = map[string]any{"type": "tool_search_call", "call_id": a.ID, "execution": "client", "arguments": map[string]any{"query": a.Search}}
	}
	if a.Tool != "" {
		item = map[string]any{"type": "function_call", "call_id": a.ID, "name": a.Tool, "arguments": string(a.Input)}
		if n := namespace[a.Tool]; n != "" {
			item["namespace"] = n
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	id := fmt.Sprintf("resp_%d", len(shown))
	sendEvent(w, "response.created", map[string]any{"type": "response.created", "response": map[string]any{"id": id}})
	sendEvent(w, "response.output_item.done", map[string]any{"type": "response.output_item.done", "output_index": 0, "item": item})
	sendEvent(w, "response.completed", map[string]any{"type": "response.completed", "response": map[string]any{
		"id": id, "usage": map[string]any{
			"input_tokens": TokensIn, "output_tokens": TokensOut, "total_tokens": TokensIn + TokensOut,
			"input_tokens_details": map[string]any{"cached_tokens": 0}, "output_tokens_details": map[string]any{"reasoning_tokens": 0},
		},
	}})
}

// completions is OpenAI's older interface, which others have taken over: opencode
// speaks it.
func (s server) completions(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model  string
		Stream bool
		Tools  []struct {
			Function struct{ Name string }
		}
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	raw, ok := read(w, r, &q)
	if !ok {
		return
	}
	var offered, shown []string
	for _, t := range q.Tools {
		offered = append(offered, t.Function.Name)
	}
	for _, message := range q.Messages {
		if message.Role == "tool" {
			shown = append(shown, plainText(message.Content))
		}
	}
	a, ok := s.next(w, Request{r, raw, offered, shown})
	if !ok {
		return
	}
	said, reason := map[string]any{"role": "assistant", "content": a.Text}, "stop"
	if a.Tool != "" {
		reason = "tool_calls"
		said = map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
			"index": 0, "id": a.ID, "type": "function",
			"function": map[string]any{"name": a.Tool, "arguments": string(a.Input)},
		}}}
	}
	usage := map[string]any{"prompt_tokens": TokensIn, "completion_tokens": TokensOut, "total_tokens": TokensIn + TokensOut}
	reply := func(kind, field string, said map[string]any, reason any) map[string]any {
		return map[string]any{
			"id": "chat_1", "object": kind, "created": 1, "model": q.Model, "usage": usage,
			"choices": []any{map[string]any{"index": 0, field: said, "finish_reason": reason}},
		}
	}
	if !q.Stream {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(reply("chat.completion", "message", said, reason))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	sendEvent(w, "", reply("chat.completion.chunk", "delta", said, nil))
	sendEvent(w, "", reply("chat.completion.chunk", "delta", map[string]any{}, reason))
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}

// generate is Google's interface.
func (s server) generate(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Tools []struct {
			FunctionDeclarations []struct{ Name string }
		}
		Contents []struct {
			Parts []struct {
				FunctionResponse *struct{ Response json.RawMessage }
			}
		}
	}
	raw, ok := read(w, r, &q)
	if !ok {
		return
	}
	call := r.PathValue("call")
	if strings.HasSuffix(call, ":countTokens") {
		_, _ = w.Write([]byte(`{"totalTokens":10}`))
		return
	}
	var offered, shown []string
	for _, t := range q.Tools {
		for _, f := range t.FunctionDeclarations {
			offered = append(offered, f.Name)
		}
	}
	for _, c := range q.Contents {
		for _, p := range c.Parts {
			if p.FunctionResponse == nil {
				continue
			}
			var out struct{ Output, Error string }
			if json.Unmarshal(p.FunctionResponse.Response, &out) == nil && out.Output+out.Error != "" {
				shown = append(shown, out.Output+out.Error)
			} else {
				shown = append(shown, string(p.FunctionResponse.Response))
			}
		}
	}
	a, ok := s.next(w, Request{r, raw, offered, shown})
	if !ok {
		return
	}
	part := map[string]any{"text": a.Text}
	if a.Tool != "" {
		part = map[string]any{"functionCall": map[string]any{"id": a.ID, "name": a.Tool, "args": a.Input}}
	}
	reply := map[string]any{
		"candidates": []any{map[string]any{
			"index": 0, "finishReason": "STOP",
			"content": map[string]any{"role": "model", "parts": []any{part}},
		}},
		"usageMetadata": map[string]any{"promptTokenCount": TokensIn, "candidatesTokenCount": TokensOut, "totalTokenCount": TokensIn + TokensOut},
	}
	if !strings.HasSuffix(call, ":streamGenerateContent") {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(reply)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	sendEvent(w, "", reply)
}
