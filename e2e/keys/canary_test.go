package keys

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Canaries are secrets that must not come out anywhere. What stands in arguments is
// people's own text: it is in the database and in answers, and nowhere else.
const (
	canaryPassword = "canary-dsn-password"
	canaryEnv      = "canary-environment"
	canaryOTLP     = "canary-otlp-header"
	canaryToken    = "canary-bearer-token"
	canaryCookie   = "canary-cookie"
	canaryHeader   = "canary-header"
	canaryQuery    = "canary-query"
	canaryUpstream = "canary-upstream-error"
	canaryArgument = "canary-argument"
	canaryBody     = "canary-broken-body"
)

// collector keeps what is sent to it.
type collector struct {
	mu   sync.Mutex
	text bytes.Buffer
	hits int
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text.Write(body) // the texts in it are as they are
	c.hits++
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (c *collector) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// TestCanaries puts secrets everywhere, uses everything, and looks for them in all
// that comes out.
func TestCanaries(t *testing.T) {
	m := newTeam(t)
	person := m.key("web", "--role", "admin", "--person", "ada")
	worker := m.key("web", "--role", "worker", "--owner", "ada")
	ended := m.key("web", "--role", "worker", "--owner", "bob")
	m.run("key", "revoke", "--db", m.dsn, ended)

	traces := &collector{}
	receiver := httptest.NewServer(traces)
	defer receiver.Close()
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, canaryUpstream, http.StatusInternalServerError)
	}))
	defer issuer.Close()
	audit := filepath.Join(t.TempDir(), "audit.jsonl")
	admin := freeAddress(t)
	user, rest, ok := strings.Cut(m.dsn, "@")
	if !ok {
		t.Fatal("the address of the database has no user")
	}
	s := m.serve([]string{
		"SOME_SECRET=" + canaryEnv, "BOSSMAN_KEY=" + canaryEnv, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + receiver.URL + "/v1/traces",
		"OTEL_EXPORTER_OTLP_HEADERS=authorization=" + canaryOTLP, "OTEL_BSP_SCHEDULE_DELAY=100",
		"BOSSMAN_DB=" + user + ":" + canaryPassword + "@" + rest,
	}, "--log-level", "debug", "--audit", audit, "--admin", admin, "--oauth-issuer", issuer.URL, "--oauth-audience", "https://bossman.example.org/mcp")

	refusals := exercise(t, m, s, person, worker, ended)

	got := map[string]string{"an answer to a refused request": refusals}
	res, err := http.Get("http://" + admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	metrics, _ := io.ReadAll(res.Body)
	res.Body.Close()
	got["the metrics"] = string(metrics)
	text, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	got["the audit stream"] = string(text)
	for begun := time.Now(); !strings.Contains(traces.String(), "answer_question"); time.Sleep(50 * time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			t.Fatal("no traces came")
		}
	}
	got["the traces"] = traces.String()
	got["the log"] = s.log.String()
	for where, text := range got {
		if len(text) == 0 {
			t.Errorf("there is nothing in %s", where)
		}
		t.Logf("%s: %d bytes", where, len(text))
		look(t, where, text, canaryPassword, canaryEnv, canaryOTLP, canaryToken, canaryCookie, canaryHeader, canaryQuery, canaryUpstream,
			canaryArgument, canaryBody, secretOf(person), secretOf(worker), secretOf(ended))
	}
	dump, err := m.c.Command("pg_dump", "-d", m.c.DSN(m.db)).Output()
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	t.Logf("the database: %d bytes", len(dump))
	if !bytes.Contains(dump, []byte(canaryArgument)) {
		t.Error("the tasks are not in the dump: is it the right database?")
	}
	look(t, "the database", string(dump), canaryPassword, canaryEnv, canaryOTLP, canaryToken, canaryCookie, canaryHeader, canaryQuery, canaryUpstream,
		canaryBody, secretOf(person), secretOf(worker), secretOf(ended))
}

// secretOf is the part of a key that nobody may know.
func secretOf(key string) string { return key[strings.LastIndexByte(key, '_')+1:] }

func look(t *testing.T, where, text string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("%s is in %s: %q", secret, where, text[max(0, i-200):min(len(text), i+len(secret)+40)])
		}
	}
}

// exercise uses all tools, well and badly, and gives what the server said to those
// whom it let in nowhere.
func exercise(t *testing.T, m *team, s *server, person, worker, ended string) (refusals string) {
	t.Helper()
	ctx := t.Context()
	a := `"` + canaryArgument + `"`
	for _, c := range [][2]string{
		{"create_task", `{"description":` + a + `,"title":` + a + `,"acceptance":` + a + `,"idempotency_key":` + a + `}`},
		{"create_plan", `{"goal":` + a + `,"tasks":[{"key":"k","title":` + a + `}]}`},
		{"get_next_task", `{}`},
		{"get_task", `{"task":"web-1"}`},
		{"report_progress", `{"claim":"web-1/1.aaaaa","note":` + a + `}`},
		{"report_task_done", `{"claim":"web-1/1.aaaaa","summary":` + a + `}`},
		{"report_task_failed", `{"claim":` + a + `,"reason":` + a + `}`},
		{"ask_question", `{"question":` + a + `,"blocking":false,"wait_seconds":0}`},
		{"get_answer", `{"question":"q-1"}`},
		{"list_tasks", `{"query":` + a + `,"cursor":` + a + `}`},
		{"update_task", `{"task":"web-2","title":` + a + `,"parent":` + a + `}`},
		{"review_task", `{"task":"web-2","verdict":"accept","note":` + a + `}`},
		{"list_questions", `{"project":` + a + `}`},
		{"list_workers", `{"project":` + a + `}`},
		{"cancel_task", `{"task":"web-2","reason":` + a + `}`},
		{"no_such_tool", `{"x":` + a + `}`},
		{"answer_question", `{"question":"q-1","answer":` + a + `}`},
	} {
		for _, key := range []string{person, worker} {
			if code, text, err := s.tool(ctx, key, c[0], c[1]); err != nil || code >= 500 {
				t.Errorf("%s = %d %s, %v", c[0], code, text, err)
			}
		}
	}
	// What the driver says when its connections are cut goes to nobody.
	m.c.Exec(t, "postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"+m.db+"'")
	for range 5 {
		_, text, _ := s.tool(ctx, person, "get_task", `{"task":"web-1"}`)
		if strings.Contains(text, "pgconn") || strings.Contains(text, "SQLSTATE") {
			t.Errorf("an answer has the driver's words: %s", text)
		}
	}
	_, _, _ = s.ask(ctx, person, "bossman/login", "", `"machine":"laptop"`)
	_, _, _ = s.ask(ctx, worker, "bossman/get", "", `"args":{"ID":"`+canaryArgument+`"}`)
	_, _, _ = s.ask(ctx, worker, canaryArgument, "", "")
	_, _, _ = s.ask(ctx, worker, "resources/read", "bossman://tasks/"+canaryArgument, `"uri":"bossman://tasks/`+canaryArgument+`"`)

	var out strings.Builder
	refused := func(change func(*http.Request)) {
		t.Helper()
		r := s.request(ctx, "", "tools/list", "", "")
		r.Header.Del("X-Api-Token")
		change(r)
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		_ = res.Header.Write(&out)
		_, _ = io.Copy(&out, res.Body)
		if res.StatusCode < 400 {
			t.Errorf("%s %s = %s", r.Method, r.URL, res.Status)
		}
	}
	refused(func(r *http.Request) { r.Header.Set("X-Api-Token", ended) })
	refused(func(r *http.Request) { r.Header.Set("X-Api-Token", person[:len(person)-3]+"aaa") })
	refused(func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+canaryToken) })
	refused(func(r *http.Request) { // as a token looks
		r.Header.Set("Authorization", "Bearer eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ.eyJpc3MiOiJ4In0."+canaryToken)
	})
	refused(func(r *http.Request) { r.Header.Set("Authorization", "Basic "+canaryToken) })
	refused(func(r *http.Request) { r.Header.Set("Cookie", "session="+canaryCookie) })
	refused(func(r *http.Request) {
		r.Header.Set("X-Api-Token", worker)
		r.Header.Set("X-Secret", canaryHeader)
		r.Header.Set("Mcp-Param-Secret", canaryHeader)
		r.Header.Set("Mcp-Session-Id", canaryHeader)
		r.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	})
	refused(func(r *http.Request) { r.URL.Path, r.URL.RawQuery = "/nothing", "token="+canaryQuery })
	refused(func(r *http.Request) { r.URL.RawQuery = "api_key=" + canaryQuery })
	refused(func(r *http.Request) {
		r.Header.Set("X-Api-Token", worker)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(`{"`+canaryBody+`":`)), int64(len(canaryBody))+4
	})
	return out.String()
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
