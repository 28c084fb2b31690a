package agents

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// A row is one line of docs/interop.md.
type row struct {
	client, version string
	transport       string // stdio, if not said
	shown           string
	methods         []string // that must have been sent for it to be true
	revision        string
	sent            []string
}

// A report gathers rows and writes them down.
type report struct {
	mu   sync.Mutex
	rows []row
}

// add completes a row with what the record says.
func (r *report) add(t *testing.T, next row, rec *harness.Record) {
	t.Helper()
	next.revision, next.sent = rec.Revision(t), rec.Methods(t)
	if next.revision == "" {
		t.Error("no request was answered")
	}
	for _, m := range next.methods {
		if !slices.Contains(next.sent, m) {
			t.Errorf("the client sent %v, want %s among them", next.sent, m)
		}
	}
	if next.transport == "" {
		next.transport = "stdio"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, next)
}

func (r *report) write(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(r.String()), 0o644)
}

func (r *report) String() string {
	var b strings.Builder
	b.WriteString(`# Clients tried with Bossman

Each client below was installed from npm in the version given, and connected
over standard input and output to [examples/add](../examples/add/main.go), a
server with one tool, or over Streamable HTTP to one process of
[internal/conformance/server](../internal/conformance/server/main.go), which has
every feature and served clients of all these revisions at the same address, or
over standard input and output to [bossman](../cmd/bossman/main.go) itself, with
tasks on its board. A team's server is three replicas of bossman serve behind a load
balancer that sends every request to another of them; a laptop of the team reaches it
through bossman mcp. A small program between the two wrote down every message.
The revision is the edition of the Model Context Protocol that was spoken; it,
and the methods in the order in which the client first sent them, are read off
that record and not taken from what either side says of itself.

To try it again:

    make e2e-agents

which also writes this file. It needs npm, and no account or language model: the
scripted model is a stand-in that asks for calls of tools, reads the claim out of
what it is shown and writes down all of that. On a board it takes a task, asks a
question with a default, notes its progress after a person has answered, and
reports the task done. The agents are large, and the first run downloads more than
a gigabyte.
Last run: ` + time.Now().UTC().Format(time.DateOnly) + `.

| client | version | transport | revision | what worked | methods it sent |
| --- | --- | --- | --- | --- | --- |
`)
	// Those over HTTP run at the same time and come in any order.
	rows := slices.Clone(r.rows)
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(-strings.Compare(a.transport, b.transport), strings.Compare(a.client, b.client))
	})
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n",
			row.client, row.version, row.transport, row.revision, row.shown, strings.Join(row.sent, ", "))
	}
	b.WriteString(`
The Inspector, the TypeScript SDKs and mcp-remote are also tested at length, in
two revisions, over both transports and against a server with every feature:
` + "`make e2e`" + `.
`)
	return b.String()
}
