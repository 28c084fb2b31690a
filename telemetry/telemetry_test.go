package telemetry_test

import (
	"bufio"
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/store/sqlite"
	"github.com/bossman-dev/bossman/telemetry"
)

// A bench is a Telemetry with all that it writes within reach.
type bench struct {
	*telemetry.Telemetry
	t      *testing.T
	log    lockedBuffer
	audit  lockedBuffer
	logger *slog.Logger
	spans  *tracetest.InMemoryExporter
}

func newBench(t *testing.T, o telemetry.Options) *bench {
	t.Helper()
	b := &bench{t: t, spans: tracetest.NewInMemoryExporter()}
	b.logger = telemetry.Logger(&b.log, slog.LevelDebug)
	o.Logger = b.logger
	if o.Audit == nil {
		o.Audit = &b.audit
	}
	o.Version = "1.2.3"
	var err error
	if b.Telemetry, err = telemetry.New(&o); err != nil {
		t.Fatal(err)
	}
	b.ExportTo(b.spans)
	t.Cleanup(func() {
		if err := b.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return b
}

// ended gives the spans that have ended.
func (b *bench) ended() tracetest.SpanStubs {
	b.Flush()
	return b.spans.GetSpans()
}

// audited gives the whole audit stream; nothing can be added to it afterwards.
func (b *bench) audited() string {
	b.t.Helper()
	b.Flush()
	if err := b.Shutdown(context.Background()); err != nil {
		b.t.Fatal(err)
	}
	return b.audit.String()
}

// scrape reads the metrics as Prometheus does: each series with its value.
func scrape(t testing.TB, m *telemetry.Telemetry) map[string]float64 {
	t.Helper()
	w := httptest.NewRecorder()
	m.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("GET /metrics = %d: %s", w.Code, w.Body)
	}
	all := map[string]float64{}
	lines := bufio.NewScanner(w.Body)
	for lines.Scan() {
		line := lines.Text()
		i := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || i < 0 {
			continue
		}
		v, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			t.Fatalf("metrics line %q: %v", line, err)
		}
		all[line[:i]] = v
	}
	return all
}

func wantSeries(t testing.TB, all map[string]float64, name string, want float64) {
	t.Helper()
	if got, ok := all[name]; !ok || got != want {
		t.Errorf("%s = %v (there: %v), want %v", name, got, ok, want)
	}
}

// attributes of a span by name.
func attributes(s sdktrace.ReadOnlySpan) map[string]string {
	all := map[string]string{}
	for _, kv := range s.Attributes() {
		all[string(kv.Key)] = kv.Value.String()
	}
	return all
}

func spanNamed(t *testing.T, spans tracetest.SpanStubs, name string) sdktrace.ReadOnlySpan {
	t.Helper()
	var names []string
	for _, s := range spans {
		if s.Name == name {
			return s.Snapshot()
		}
		names = append(names, s.Name)
	}
	t.Fatalf("there is no span %q; there are %q", name, names)
	return nil
}

// openBoard opens a board on SQLite in a file of the test's.
func openBoard(t testing.TB, o *board.Options) *board.Board {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "board.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	b := board.New(store, o)
	if err := b.SetProject(t.Context(), board.Project{Slug: "web", Policy: board.PolicyTrust}); err != nil {
		t.Fatal(err)
	}
	return b
}

func newServer(b *bench) *mcp.Server {
	s := mcp.NewServer(mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{Logger: b.logger, Observer: b.Observer()})
	s.Use(b.Middleware())
	return s
}

// A lockedBuffer may be written to and read at the same time.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
