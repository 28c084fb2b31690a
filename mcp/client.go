package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// ClientOptions are what a client may be given. The zero value is a client that
// speaks the newest revision and cannot be asked anything.
type ClientOptions struct {
	Info     Implementation // what the client calls itself
	Revision Revision       // the one to speak; zero is the newest

	// A handler that is set is declared as a capability.
	Elicit func(ctx context.Context, p *ElicitParams) (*ElicitResult, error)
	Sample func(ctx context.Context, p *SampleParams) (*SampleResult, error)
	Roots  func(ctx context.Context) ([]Root, error)
	// Tasks lets tool calls become tasks, which the client then follows to
	// their end.
	Tasks bool
	// LogLevel is the least serious log message to be sent; zero is none.
	LogLevel LogLevel
	// OnNotify hears what the server tells, in order.
	OnNotify func(ctx context.Context, n Notification)
}

// A Notification is something that the server tells.
type Notification struct {
	Method string
	Params json.RawMessage
}

// A Client talks to one server.
type Client struct {
	o            ClientOptions
	peer         *jsonrpc.Peer
	transport    jsonrpc.Transport
	capabilities ClientCapabilities
	ended        chan struct{}

	mu     sync.Mutex
	server initializeResult
	tokens int
	follow map[string]func(ProgressParams) // by progress token
}

// CallOptions are for one call.
type CallOptions struct {
	// Progress hears how far the call has come.
	Progress func(ProgressParams)
}

// Connect begins a conversation over t. The context bounds the handshake only.
// The client must be closed.
func Connect(ctx context.Context, t jsonrpc.Transport, o *ClientOptions) (*Client, error) {
	c := &Client{transport: t, ended: make(chan struct{}), follow: map[string]func(ProgressParams){}}
	if o != nil {
		c.o = *o
	}
	if c.o.Revision == 0 {
		c.o.Revision = Newest
	}
	if c.o.Info.Name == "" {
		c.o.Info = Implementation{Name: "bossman", Version: "0"}
	}
	c.capabilities = c.o.capabilities()
	c.peer = jsonrpc.NewPeer(t, &jsonrpc.PeerOptions{
		Handle:    c.asked,
		Notified:  c.told,
		Abandoned: c.abandoned,
	})
	run := context.WithoutCancel(ctx)
	go func() {
		defer close(c.ended)
		_ = c.peer.Run(run) // whoever waits for an answer is told
	}()
	if err := c.begin(ctx); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("connect: %w", err)
	}
	return c, nil
}

func (o *ClientOptions) capabilities() ClientCapabilities {
	var c ClientCapabilities
	if o.Elicit != nil {
		c.Elicitation = &ElicitationCapability{}
		if o.Revision == 0 || o.Revision.richForms() {
			c.Elicitation = &ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}}
		}
	}
	if o.Sample != nil {
		c.Sampling = &SamplingCapability{}
	}
	if o.Roots != nil {
		c.Roots = &RootsCapability{}
	}
	if o.Tasks && o.Revision.Stateless() {
		c.Extensions = tasksCapability().Extensions
	}
	return c
}

// begin finds out what the server offers.
func (c *Client) begin(ctx context.Context) error {
	if c.o.Revision.Stateless() {
		raw, err := c.ask(ctx, "server/discover", nil)
		if err != nil {
			return err
		}
		return jsonv2.Unmarshal(raw, &c.server)
	}
	raw, err := c.peer.Call(ctx, "initialize", map[string]any{
		"protocolVersion": c.o.Revision.String(),
		"capabilities":    c.capabilities,
		"clientInfo":      c.o.Info,
	})
	if err != nil {
		return err
	}
	if err := jsonv2.Unmarshal(raw, &c.server); err != nil {
		return err
	}
	if c.server.ProtocolVersion != c.o.Revision.String() {
		return fmt.Errorf("the server speaks %q, not %s", c.server.ProtocolVersion, c.o.Revision)
	}
	if err := c.peer.Notify(ctx, "notifications/initialized", nil); err != nil {
		return err
	}
	if c.o.LogLevel != 0 && c.server.Capabilities.Logging != nil {
		_, err = c.ask(ctx, "logging/setLevel", map[string]any{"level": c.o.LogLevel})
	}
	return err
}

// Close ends the conversation and waits for all that the client started.
func (c *Client) Close() error {
	err := c.transport.Close()
	<-c.ended
	return err
}

// Server is what the server offers.
func (c *Client) Server() ServerCapabilities { return c.server.Capabilities }

// Instructions tell a model how to use the server.
func (c *Client) Instructions() string { return c.server.Instructions }

// ask sends a request in the form of the client's revision.
func (c *Client) ask(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	if c.o.Revision.Stateless() {
		meta := map[string]any{
			metaVersion:      c.o.Revision.String(),
			metaCapabilities: c.capabilities,
			metaClientInfo:   c.o.Info,
		}
		if c.o.LogLevel != 0 {
			meta[metaLogLevel] = c.o.LogLevel
		}
		params = withMeta(params, meta)
	}
	return c.peer.Call(ctx, method, params)
}

// withMeta is params with more in its _meta.
func withMeta(params, meta map[string]any) map[string]any {
	next := map[string]any{"_meta": meta}
	for k, v := range params {
		if old, ok := v.(map[string]any); ok && k == "_meta" {
			for name, value := range old {
				meta[name] = value
			}
			continue
		}
		next[k] = v
	}
	return next
}

// resultHead is what tells one kind of result from another.
type resultHead struct {
	Type          string                     `json:"resultType"`
	InputRequests map[string]json.RawMessage `json:"inputRequests"`
	RequestState  *string                    `json:"requestState"`
	TaskID        string                     `json:"taskId"`
}

// settle asks until there is a result, answering what the server asks meanwhile.
func (c *Client) settle(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	for range maxRounds + 2 {
		raw, err := c.ask(ctx, method, params)
		if err != nil {
			return nil, err
		}
		var head resultHead
		if err := jsonv2.Unmarshal(raw, &head); err != nil {
			return nil, fmt.Errorf("%s: the result is not an object: %w", method, err)
		}
		switch head.Type {
		case "", "complete":
			return raw, nil
		case "task":
			return c.followTask(ctx, head.TaskID)
		case "input_required":
		default:
			return nil, fmt.Errorf("%s: unknown kind of result %q", method, head.Type)
		}
		next := map[string]any{}
		for k, v := range params {
			next[k] = v
		}
		if next["inputResponses"], err = c.answerAll(ctx, head.InputRequests); err != nil {
			return nil, err
		}
		delete(next, "requestState")
		if head.RequestState != nil {
			next["requestState"] = *head.RequestState
		}
		params = next
	}
	return nil, fmt.Errorf("%s: the server keeps asking", method)
}

func (c *Client) answerAll(ctx context.Context, questions map[string]json.RawMessage) (map[string]any, error) {
	answers := map[string]any{}
	for key, raw := range questions {
		var q struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := jsonv2.Unmarshal(raw, &q); err != nil {
			return nil, err
		}
		answer, err := c.answer(ctx, q.Method, q.Params)
		if err != nil {
			return nil, err
		}
		answers[key] = answer
	}
	return answers, nil
}

// followTask waits for a task's outcome, and answers what it asks.
func (c *Client) followTask(ctx context.Context, id string) (json.RawMessage, error) {
	answered := map[string]bool{}
	for {
		raw, err := c.ask(ctx, "tasks/get", map[string]any{"taskId": id})
		if err != nil {
			return nil, err
		}
		var task struct {
			Status   string                     `json:"status"`
			Poll     int64                      `json:"pollIntervalMs"`
			Requests map[string]json.RawMessage `json:"inputRequests"`
			Result   json.RawMessage            `json:"result"`
			Error    *jsonrpc.Error             `json:"error"`
		}
		if err := jsonv2.Unmarshal(raw, &task); err != nil {
			return nil, err
		}
		switch task.Status {
		case CallCompleted:
			return task.Result, nil
		case CallFailed:
			if task.Error == nil {
				return nil, errors.New("the task failed without a reason")
			}
			return nil, task.Error
		case CallCancelled:
			return nil, errors.New("the task was cancelled")
		}
		for key := range task.Requests {
			if answered[key] {
				delete(task.Requests, key)
			}
			answered[key] = true
		}
		if len(task.Requests) > 0 {
			answers, err := c.answerAll(ctx, task.Requests)
			if err != nil {
				return nil, err
			}
			if _, err := c.ask(ctx, "tasks/update", map[string]any{"taskId": id, "inputResponses": answers}); err != nil {
				return nil, err
			}
		}
		pause := time.NewTimer(time.Duration(max(task.Poll, 10)) * time.Millisecond)
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil, context.Cause(ctx)
		case <-pause.C:
		}
	}
}

// asked answers a request of the server's.
func (c *Client) asked(ctx context.Context, m *jsonrpc.Message) (json.RawMessage, error) {
	if m.Method == "ping" {
		return nil, nil
	}
	v, err := c.answer(ctx, m.Method, m.Params)
	if err != nil {
		return nil, err
	}
	return jsonv2.Marshal(v)
}

// answer asks the program what the server wants to know.
func (c *Client) answer(ctx context.Context, method string, params json.RawMessage) (any, error) {
	switch {
	case method == "elicitation/create" && c.o.Elicit != nil:
		var p ElicitParams
		if err := object("params", params, &p); err != nil {
			return nil, err
		}
		return c.o.Elicit(ctx, &p)
	case method == "sampling/createMessage" && c.o.Sample != nil:
		var p SampleParams
		if err := object("params", params, &p); err != nil {
			return nil, err
		}
		return c.o.Sample(ctx, &p)
	case method == "roots/list" && c.o.Roots != nil:
		roots, err := c.o.Roots(ctx)
		if roots == nil {
			roots = []Root{}
		}
		return rootsResult{Roots: roots}, err
	}
	return nil, unknownMethod(method)
}

// told hears a notification.
func (c *Client) told(ctx context.Context, n *jsonrpc.Message) {
	if n.Method == "notifications/progress" {
		var p ProgressParams
		if jsonv2.Unmarshal(n.Params, &p) == nil {
			c.mu.Lock()
			hear := c.follow[string(p.ProgressToken)]
			c.mu.Unlock()
			if hear != nil {
				hear(p)
			}
		}
	}
	if c.o.OnNotify != nil {
		c.o.OnNotify(ctx, Notification{n.Method, n.Params})
	}
}

func (c *Client) abandoned(id jsonrpc.ID, method string, cause error) {
	if method != "initialize" {
		_ = c.peer.Notify(context.Background(), "notifications/cancelled", cancelledParams{id, cause.Error()})
	}
}

// Call calls a tool. A failure that the tool tells the model is a result with
// IsError set, not an error.
func (c *Client) Call(ctx context.Context, tool string, args any, o *CallOptions) (*ToolResult, error) {
	if args == nil {
		args = struct{}{}
	}
	params := map[string]any{"name": tool, "arguments": args}
	if o != nil && o.Progress != nil {
		token, stop := c.following(o.Progress)
		defer stop()
		params["_meta"] = map[string]any{"progressToken": token}
	}
	raw, err := c.settle(ctx, "tools/call", params)
	if err != nil {
		return nil, fmt.Errorf("call tool %s: %w", tool, err)
	}
	var res ToolResult
	if err := jsonv2.Unmarshal(raw, &res); err != nil {
		return nil, fmt.Errorf("call tool %s: %w", tool, err)
	}
	return &res, nil
}

func (c *Client) following(hear func(ProgressParams)) (token int, stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens++
	token = c.tokens
	key := fmt.Sprint(token)
	c.follow[key] = hear
	return token, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.follow, key)
	}
}

// CallAs calls a tool and reads its structured answer, or its text where there is
// none; an Out of type string is the text. A failure that the tool tells the
// model is a *ToolError.
func CallAs[Out any](ctx context.Context, c *Client, tool string, args any) (Out, error) {
	var out Out
	res, err := c.Call(ctx, tool, args, nil)
	if err != nil {
		return out, err
	}
	text := ""
	for _, b := range res.Content {
		if b.Type == "text" {
			text = b.Text
			break
		}
	}
	if res.IsError {
		e := &ToolError{Text: text}
		if res.StructuredContent != nil {
			e.Structured = res.StructuredContent
		}
		return out, e
	}
	raw := res.StructuredContent
	if raw == nil {
		if s, ok := any(&out).(*string); ok {
			*s = text
			return out, nil
		}
		raw = json.RawMessage(text)
	}
	if err := jsonv2.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("answer of tool %s: %w", tool, err)
	}
	return out, nil
}

// pages walks all items of a list, page by page.
func pages[T any](ctx context.Context, c *Client, method, key string) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		params := map[string]any{}
		for {
			raw, err := c.ask(ctx, method, params)
			if err != nil {
				yield(nil, fmt.Errorf("%s: %w", method, err))
				return
			}
			var items []*T
			next := ""
			for name, v := range jsonrpc.Members(raw) {
				switch name {
				case key:
					err = jsonv2.Unmarshal(v, &items)
				case "nextCursor":
					next, err = text(name, v)
				}
				if err != nil {
					yield(nil, fmt.Errorf("%s: %w", method, err))
					return
				}
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == "" || next == params["cursor"] {
				return
			}
			params = map[string]any{"cursor": next}
		}
	}
}

// Tools lists the server's tools.
func (c *Client) Tools(ctx context.Context) iter.Seq2[*Tool, error] {
	return pages[Tool](ctx, c, "tools/list", "tools")
}

// Prompts lists the server's prompts.
func (c *Client) Prompts(ctx context.Context) iter.Seq2[*Prompt, error] {
	return pages[Prompt](ctx, c, "prompts/list", "prompts")
}

// Resources lists the server's resources.
func (c *Client) Resources(ctx context.Context) iter.Seq2[*Resource, error] {
	return pages[Resource](ctx, c, "resources/list", "resources")
}

// Templates lists the server's resource templates.
func (c *Client) Templates(ctx context.Context) iter.Seq2[*Resource, error] {
	return pages[Resource](ctx, c, "resources/templates/list", "resourceTemplates")
}

// Read reads a resource.
func (c *Client) Read(ctx context.Context, uri string) ([]Contents, error) {
	raw, err := c.settle(ctx, "resources/read", map[string]any{"uri": uri})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", uri, err)
	}
	var res struct {
		Contents []Contents `json:"contents"`
	}
	if err := jsonv2.Unmarshal(raw, &res); err != nil {
		return nil, fmt.Errorf("read %s: %w", uri, err)
	}
	return res.Contents, nil
}

// Prompt gets a prompt with its blanks filled in.
func (c *Client) Prompt(ctx context.Context, name string, args map[string]string) (*PromptResult, error) {
	raw, err := c.settle(ctx, "prompts/get", map[string]any{"name": name, "arguments": args})
	if err != nil {
		return nil, fmt.Errorf("get prompt %s: %w", name, err)
	}
	var res PromptResult
	if err := jsonv2.Unmarshal(raw, &res); err != nil {
		return nil, fmt.Errorf("get prompt %s: %w", name, err)
	}
	return &res, nil
}

// Complete asks how an argument may go on.
func (c *Client) Complete(ctx context.Context, ref CompleteRef, argument, value string) (*Completion, error) {
	raw, err := c.ask(ctx, "completion/complete", map[string]any{
		"ref": ref, "argument": CompleteArgument{argument, value},
	})
	if err != nil {
		return nil, fmt.Errorf("complete %s: %w", argument, err)
	}
	var res completeResult
	if err := jsonv2.Unmarshal(raw, &res); err != nil {
		return nil, fmt.Errorf("complete %s: %w", argument, err)
	}
	return res.Completion, nil
}
