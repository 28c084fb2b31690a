package gateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

// A secret with characters that JSON, URLs and quotation escape.
const testSecret = `gh"p/sécret+42\token`

// escaped returns a text as a JSON string with every character escaped: nobody finds the secret in it without decoding.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}

// say is a text of a way by which an upstream tells its secret.
func say(way string) string {
	return escaped(fmt.Sprintf("<%s %s %s %s>", way, testSecret, base64.URLEncoding.EncodeToString([]byte("user:"+testSecret)), url.QueryEscape(testSecret)))
}

// A leaky server tells its secret in every text that a server of an older revision can send.
type leaky struct {
	t         *testing.T
	transport jsonrpc.Transport
	mu        sync.Mutex
	asked     map[string]chan struct{}
}

func (l *leaky) send(m *jsonrpc.Message) { _ = l.transport.Send(l.t.Context(), jsonrpc.One(m)) }

func (l *leaky) ask(id, method, params string) {
	answered := make(chan struct{})
	l.mu.Lock()
	l.asked[id] = answered
	l.mu.Unlock()
	l.send(&jsonrpc.Message{ID: jsonrpc.StringID(id), Method: method, Params: json.RawMessage(params)})
	select {
	case <-answered:
	case <-time.After(time.Minute):
		l.t.Errorf("%s was not answered", method)
	}
}

func (l *leaky) serve() {
	for {
		p, err := l.transport.Receive(l.t.Context())
		if err != nil {
			return
		}
		switch m := p.Message; {
		case m == nil:
		case m.IsRequest():
			go l.answer(m)
		case m.IsResponse():
			l.mu.Lock()
			if c := l.asked[strings.Trim(m.ID.String(), `"`)]; c != nil {
				close(c)
			}
			l.mu.Unlock()
		}
	}
}

func (l *leaky) answer(m *jsonrpc.Message) {
	result := map[string]string{
		"initialize":               `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{},"completions":{},"logging":{}},"serverInfo":{"name":"` + say("info") + `","version":"1"},"instructions":"` + say("instructions") + `"}`,
		"tools/list":               `{"tools":[` + leakyTool("result") + `,` + leakyTool("error") + `,` + leakyTool("talk") + `,` + leakyTool("gone") + `]}`,
		"prompts/list":             `{"prompts":[{"name":"p","description":"` + say("prompt") + `"}]}`,
		"prompts/get":              `{"description":"` + say("prompt result") + `","messages":[{"role":"user","content":{"type":"text","text":"` + say("prompt text") + `"}}]}`,
		"resources/list":           `{"resources":[{"uri":"mem://r","name":"r","description":"` + say("resource") + `"}]}`,
		"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"mem://t/{x}","name":"t","description":"` + say("template") + `"}]}`,
		"resources/read":           `{"contents":[{"uri":"mem://r","text":"` + say("contents") + `"}]}`,
		"completion/complete":      `{"completion":{"values":["` + say("completion") + `"]}}`,
		"logging/setLevel":         `{}`, "ping": `{}`,
	}[m.Method]
	if m.Method == "tools/call" {
		switch tool := nameOf(m.Params); tool {
		case "error":
			l.send(&jsonrpc.Message{ID: m.ID, Error: &jsonrpc.Error{Code: -32050, Message: decoded(say("error")), Data: json.RawMessage(`{"` + say("data name") + `":["` + say("data") + `"]}`)}})
			return
		case "gone":
			_ = l.transport.Close()
			return
		case "talk":
			if token := member(member(m.Params, "_meta"), "progressToken"); token != nil {
				l.send(&jsonrpc.Message{Method: "notifications/progress", Params: json.RawMessage(`{"progressToken":` + string(token) + `,"progress":1,"message":"` + say("progress") + `"}`)})
			}
			l.send(&jsonrpc.Message{Method: "notifications/message", Params: json.RawMessage(`{"level":"error","data":"` + say("log") + `"}`)})
			l.send(&jsonrpc.Message{Method: decoded(say("method"))})
			l.ask("form", "elicitation/create", `{"message":"`+say("form")+`","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean","title":"`+say("title")+`"}}}}`)
			l.ask("sample", "sampling/createMessage", `{"maxTokens":10,"systemPrompt":"`+say("system prompt")+`","messages":[{"role":"user","content":{"type":"text","text":"`+say("sampling")+`"}}]}`)
		}
		result = `{"content":[{"type":"text","text":"` + say("text") + `"},{"type":"resource_link","name":"x","uri":"mem://` + escaped(testSecret) + `"}],"structuredContent":{"` + say("name") + `":"` + say("structured") + `"},"_meta":{"example.com/x":"` + say("meta") + `"}}`
	}
	if result == "" {
		l.send(&jsonrpc.Message{ID: m.ID, Error: jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "no")})
		return
	}
	l.send(&jsonrpc.Message{ID: m.ID, Result: json.RawMessage(result)})
}

func leakyTool(name string) string {
	return `{"name":"` + name + `","description":"` + say("tool") + `","inputSchema":{"type":"object","properties":{"x":{"type":"string","description":"` + say("argument") + `"}}}}`
}

func decoded(inner string) string {
	b, err := jsontext.AppendUnquote(nil, `"`+inner+`"`)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// A recorder keeps what a client receives.
type recorder struct {
	jsonrpc.Transport
	mu  sync.Mutex
	got bytes.Buffer
}

func (r *recorder) Receive(ctx context.Context) (jsonrpc.Packet, error) {
	p, err := r.Transport.Receive(ctx)
	if err == nil {
		v := jsontext.Value(p.Append(nil))
		_ = v.Canonicalize() // without escapes
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got.Write(append(v, '\n'))
	}
	return p, err
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got.String()
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

// showsSecret reports whether a text has the secret in one of its forms.
func showsSecret(text string) bool {
	return slices.ContainsFunc(formsOf(testSecret), func(form string) bool { return strings.Contains(text, form) })
}

// However an upstream tells its secret, neither the caller nor the journal, nor the logs, nor what is stored has it. Each way is seen to
// be taken, so that one that is forgotten fails here.
func TestRedact_everyWay(t *testing.T) {
	dir, log, guard := t.TempDir(), &lockedBuffer{}, &testGuard{}
	logger := slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	g, err := New(t.Context(), []Upstream{{
		Name: "up", Command: []string{"up"}, Env: map[string]auth.Secret{"API_TOKEN": testSecret},
		Max: 4, Timeout: time.Minute, Idle: time.Minute, List: "real",
	}}, &Options{
		TrustFirst: true, Logger: logger, Store: NewFileStore(dir), LogDir: dir, Guard: guard,
		Start: func(ctx context.Context, _ *mcp.Command, o *mcp.ClientOptions) (*mcp.Client, error) {
			one, two := jsonrpc.Pipe(jsonrpc.Limits{})
			go (&leaky{t: t, transport: two, asked: map[string]chan struct{}{}}).serve()
			o.Revision = mcp.R20250618
			return mcp.Connect(ctx, one, o)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	s := mcp.NewServer(mcp.Implementation{Name: "gateway", Version: "1"}, &mcp.ServerOptions{
		Visible: g.Visible, Logger: logger,
		Complete: func(ctx context.Context, c *mcp.Call, p *mcp.CompleteParams) (*mcp.Completion, error) {
			res, _, err := g.Complete(ctx, c, p)
			return res, err
		},
	})
	g.Attach(s)
	if err := g.Refresh(t.Context(), "up"); err != nil {
		t.Fatal(err)
	}
	one, two := jsonrpc.Pipe(jsonrpc.Limits{})
	go func() { _ = s.Serve(t.Context(), two) }()
	rec := &recorder{Transport: one}
	c, err := mcp.Connect(t.Context(), rec, &mcp.ClientOptions{
		Revision: mcp.R20250618,
		Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
		Sample: func(context.Context, *mcp.SampleParams) (*mcp.SampleResult, error) {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "no")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	journal := ""
	call := func(tool string) {
		_, _ = c.Call(t.Context(), "up__"+tool, nil, &mcp.CallOptions{Progress: func(context.Context, mcp.Progress) {}})
		journal += fmt.Sprintf("%s %v %s\n", guard.end.Outcome, guard.end.Err, guard.end.Result)
	}
	call("result")
	call("error")
	call("talk")
	for _, err := range c.Tools(t.Context()) {
		must(t, err)
	}
	for _, err := range c.Prompts(t.Context()) {
		must(t, err)
	}
	for _, err := range c.Resources(t.Context()) {
		must(t, err)
	}
	for _, err := range c.ResourceTemplates(t.Context()) {
		must(t, err)
	}
	_, _ = c.Prompt(t.Context(), "up__p", nil, nil)
	_, _ = c.Read(t.Context(), "mem://r", nil)
	_, _ = c.Complete(t.Context(), &mcp.CompleteParams{Ref: mcp.CompleteRef{Type: "ref/prompt", Name: "up__p"}, Argument: mcp.CompleteArgument{Name: "x"}}, nil)
	_, _ = c.Call(t.Context(), "search_tools", map[string]string{"query": "result"}, nil)
	call("gone")
	var stored strings.Builder
	for _, name := range []string{"up.json"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		stored.Write(text)
	}
	for _, it := range g.Items() {
		fmt.Fprintln(&stored, ReadableText(it.Definition), it.Name)
	}
	for what, text := range map[string]string{"the caller": rec.String(), "the journal": journal, "the log": log.String(), "the store": stored.String()} {
		if showsSecret(text) {
			t.Errorf("%s has the secret:\n%.3000s", what, text)
		}
	}
	ways := []string{
		"tool", "argument", "prompt", "text", "structured", "name", "meta", "error", "data", "data name", "progress",
		"form", "title", "sampling", "system prompt", "prompt result", "prompt text", "contents", "completion",
	}
	for _, way := range ways {
		if !strings.Contains(rec.String(), "<"+way+" [redacted] ") {
			t.Errorf("the caller got nothing by the way %q", way)
		}
	}
	if !strings.Contains(journal, "rpc_error") || !strings.Contains(journal, "<error [redacted] ") || !strings.Contains(journal, "unknown") {
		t.Errorf("the journal is\n%s", journal)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What a program writes to its standard error, and what an HTTP server answers instead of a message, is redacted in errors and logs.
func TestRedact_transports(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it needs sh")
	}
	long := strings.Repeat("x", 4090)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer error="`+r.Header.Get("Authorization")+`"`)
		http.Error(w, long[:170]+"not for "+r.Header.Get("Authorization"), http.StatusTeapot)
	}))
	defer site.Close()
	up := quietServer()
	raw(t, up, `{"name":"leak","description":"`+say("tool")+`","inputSchema":{"type":"object"}}`, nil)
	served := httptest.NewServer(streamable.NewHandler(up, nil))
	defer served.Close()
	dir, log := t.TempDir(), &lockedBuffer{}
	g, err := New(t.Context(), []Upstream{
		{Name: "served", URL: served.URL, Private: true, Headers: map[string]auth.Secret{"X-Key": testSecret}, Timeout: time.Minute, Idle: time.Minute},
		{Name: "pipe", Command: []string{"sh", "-c", `printf 'no: %s\n%s%s\n' "$API_TOKEN" ` + long + ` "$API_TOKEN" >&2; exit 3`}, Env: map[string]auth.Secret{"API_TOKEN": testSecret}},
		{Name: "web", URL: site.URL, Private: true, Headers: map[string]auth.Secret{"Authorization": "Bearer " + testSecret}},
	}, &Options{TrustFirst: true, Logger: slog.New(slog.NewTextHandler(log, nil)), LogDir: dir, Scratch: func() (string, error) { return t.TempDir(), nil }})
	must(t, err)
	defer g.Close()
	all := ""
	for _, name := range []string{"pipe", "web"} {
		for _, err := range []error{g.Probe(t.Context(), name), g.Refresh(t.Context(), name)} {
			if err == nil {
				t.Errorf("%s answers", name)
			}
			all += fmt.Sprint(err)
		}
	}
	for _, s := range g.Statuses() {
		all += s.Err
	}
	g.Attach(mcp.NewServer(mcp.Implementation{Name: "gateway", Version: "1"}, &mcp.ServerOptions{Visible: g.Visible}))
	must(t, g.Refresh(t.Context(), "served"))
	for _, it := range g.Items() {
		if all += string(it.Definition); !strings.Contains(string(it.Definition), "[redacted]") {
			t.Errorf("the definition is %s", it.Definition)
		}
	}
	text, err := os.ReadFile(LogFile(dir, "pipe"))
	must(t, err)
	all += string(text) + log.String()
	// Nor is a part of it left where a text was cut.
	if showsSecret(all) || strings.Contains(all, testSecret[:6]) || strings.Contains(all, `gh\"p/s`) {
		t.Errorf("the secret is shown: %s", strings.ReplaceAll(all, "xxxx", ""))
	}
	if !strings.Contains(all, "no: [redacted]") {
		t.Errorf("its words are missing: %s", strings.ReplaceAll(all, "xxxx", ""))
	}
}

// Values that are no secrets stay in results, where agents need them.
func TestRedactor(t *testing.T) {
	private := "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END KEY-----"
	u := &Upstream{
		Env: map[string]auth.Secret{
			"ROOT": "/home/ada/project", "MODE": "production", "PROJECT": "my-project-123456", "ID": "0190d5b2-7a57-7e3a-9d6e-1c2f3a4b5c6d", "AUTHOR": "Ada Lovelace", "AUTH_MODE": "bearer", "TOKEN_TYPE": "object",
			"PASSWORD": "hunter-two", "DB": "postgres://ada:s3cretpw@db/app", "X": "ghp_abcdefghij", "Y": "aB3dE5gH7jK9mN1pQ3rS5tU7", "KEY": auth.Secret(private),
		},
		Headers: map[string]auth.Secret{"X-Api": "some-value", "Authorization": "Basic " + auth.Secret(base64.StdEncoding.EncodeToString([]byte("ada:open-sesame"))), "Accept": "application/json"},
		URL:     "https://example.com/mcp?key=in-the-url",
	}
	r := newRedactor(u)
	for _, s := range []string{"/home/ada/project/x.go", "in production", "my-project-123456", "0190d5b2-7a57-7e3a-9d6e-1c2f3a4b5c6d", "Ada Lovelace", "application/json", "postgres://db/app", "bearer", `{"type":"object"}`} {
		if got := r.text(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
	for _, s := range []string{"hunter-two", "s3cretpw", "ghp_abcdefghij", "aB3dE5gH7jK9mN1pQ3rS5tU7", "some-value", "open-sesame", "in-the-url", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"} {
		if got := r.text("a " + s + " b"); got != "a [redacted] b" {
			t.Errorf("%q became %q", s, got)
		}
	}
	if got := r.strict("in production"); got != "in [redacted]" {
		t.Errorf("in an error: %q", got)
	}
	r.sent("Bearer fresh-token-1")
	for range 100 {
		r.sent("Bearer fresh-token-2")
	}
	if got := r.text("fresh-token-1 fresh-token-2"); got != "[redacted] [redacted]" {
		t.Errorf("tokens that were sent: %q", got)
	}
	list, err := ReadUpstreams(map[string]any{"up": map[string]any{"command": []any{"up"}, "env": map[string]any{"ARGS": "--token=${MY_TOKEN}", "DIR": "${HOME}"}}}, func(name string) (string, bool) {
		return map[string]string{"MY_TOKEN": "abcdefgh", "HOME": "/home/ada"}[name], true
	})
	must(t, err)
	if got := newRedactor(&list[0]).text("abcdefgh in /home/ada"); got != "[redacted] in /home/ada" {
		t.Errorf("of a variable: %q", got)
	}
}
