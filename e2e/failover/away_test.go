package failover

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// grace is how long a key that was checked counts while the database is away.
const grace = 5 * time.Second

// The database is away for a while, and comes back. Who has a key is told that the board
// cannot be reached, and when to come again; nobody is told that a key is wrong.
func TestAway(t *testing.T) {
	cluster := pgtest.Start(t)
	db := cluster.NewDatabase(t)
	dsn := cluster.DSNAs(pgtest.App, db)
	store, err := postgres.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, board.New(store, nil), 3)
	keys := auth.New(store, nil)
	used, fresh, every := newKey(t, keys, project), newKey(t, keys, project), newKey(t, keys, auth.EveryProject)
	laptop := newKey(t, keys, project)
	store.Close()

	r := startReplica(t, "0", dsn)
	session := open(t, r, used)
	door := newBoardDoor(r.url(), laptop, "laptop")
	defer door.close()
	if _, err := door.create(t.Context(), "before", "before"); err != nil {
		t.Fatal(err)
	}
	for _, key := range []auth.Secret{used, every} {
		if a := ask(t, r, key, ""); a.status != http.StatusOK || !strings.Contains(a.body, "web-1") {
			t.Fatalf("with the database: %+v", a)
		}
	}

	gone := time.Now()
	if err := cluster.Stop("immediate"); err != nil {
		t.Fatal(err)
	}
	var closed time.Duration // when the door was shut
	for time.Since(gone) < grace+3*time.Second {
		for name, a := range map[string]answer{
			"a known key": ask(t, r, used, ""), "a session": ask(t, r, used, session),
			"a key for every project": ask(t, r, every, ""), "a new key": ask(t, r, fresh, ""),
		} {
			told := a.status == http.StatusOK && strings.Contains(a.body, "The board cannot be reached") && !strings.Contains(a.body, "user=")
			later := a.status == http.StatusServiceUnavailable && a.retryAfter != "" && a.closed && (strings.Contains(a.body, "the database is away") || strings.Contains(a.body, "sessions cannot be read"))
			if name == "a known key" && later && closed == 0 {
				closed = time.Since(gone)
			}
			if !told && !later || name == "a new key" && !later {
				t.Fatalf("%s, %v after the database went: %+v", name, time.Since(gone), a)
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("a key that was checked counted for %v more", closed.Round(10*time.Millisecond))
	if closed < grace-1500*time.Millisecond { // its last check was up to a second before
		t.Errorf("a key that was checked counted for %v more, want about %v", closed, grace)
	}
	for path, want := range map[string]int{"/readyz": http.StatusServiceUnavailable, "/livez": http.StatusOK} {
		res, err := http.Get("http://" + r.address + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s = %d, want %d", path, res.StatusCode, want)
		}
	}
	created := make(chan error, 1)
	start := time.Now()
	go func() {
		_, err := door.create(t.Context(), "meanwhile", "meanwhile")
		created <- err
	}()
	if err := cluster.Start(); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	for name, key := range map[string]auth.Secret{"a known key": used, "a new key": fresh, "a key for every project": every} {
		eventually(t, "served: "+name, func() bool {
			a := ask(t, r, key, "")
			return a.status == http.StatusOK && strings.Contains(a.body, "web-1")
		})
	}
	if took := time.Since(back); took > within {
		t.Errorf("served %v after the database came back, want at most %v", took, within)
	}
	if a := ask(t, r, used, session); a.status != http.StatusOK || !strings.Contains(a.body, "web-1") {
		t.Errorf("the session after the database came back: %+v", a)
	}
	eventually(t, "logged: the database is back", func() bool { return r.wrote("the database is back") > 0 })
	if away, back, warned := r.wrote(`"level":"ERROR","msg":"the database is away"`), r.wrote(`"level":"INFO","msg":"the database is back"`), r.wrote(`"level":"WARN"`); away != 1 || back != 1 || warned != 0 {
		t.Errorf("the log says %d times that the database is away, %d times that it is back, and has %d warnings:\n%s", away, back, warned, r.said())
	}
	const bridged = 10 * time.Second // a laptop gives up after 15
	if err := <-created; err != nil && back.Sub(start) < bridged {
		t.Errorf("a laptop that called while the database was away: %v", err)
	}
}

// An answer is what a client without any of our code sees.
type answer struct {
	status     int
	retryAfter string
	closed     bool // the server closed the connection
	body       string
}

const (
	getTask = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_task","arguments":{"task":"web-1"}%s}}`
	meta    = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	hello   = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
)

// ask calls get_task with a key, in a session if one is named.
func ask(t *testing.T, r *replica, key auth.Secret, session string) answer {
	t.Helper()
	header := http.Header{}
	body := fmt.Sprintf(getTask, meta)
	if session != "" {
		header.Set("Mcp-Protocol-Version", "2025-06-18")
		header.Set("Mcp-Session-Id", session)
		body = fmt.Sprintf(getTask, "")
	} else {
		header.Set("Mcp-Protocol-Version", "2026-07-28")
		header.Set("Mcp-Method", "tools/call")
		header.Set("Mcp-Name", "get_task")
	}
	a, _ := post(t, r, key, header, body)
	return a
}

// open begins a session.
func open(t *testing.T, r *replica, key auth.Secret) string {
	t.Helper()
	a, header := post(t, r, key, http.Header{}, hello)
	if a.status != http.StatusOK || header.Get("Mcp-Session-Id") == "" {
		t.Fatalf("initialize: %+v", a)
	}
	return header.Get("Mcp-Session-Id")
}

func post(t *testing.T, r *replica, key auth.Secret, header http.Header, body string) (answer, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+key.Reveal())
	client := http.Client{Timeout: 30 * time.Second}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header.Get("Retry-After"), res.Close, string(text)}, res.Header
}
