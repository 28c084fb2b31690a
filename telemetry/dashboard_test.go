package telemetry_test

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
	"github.com/bossman-dev/bossman/telemetry"
)

var (
	quoted   = regexp.MustCompile(`"[^"]*"`)
	grouping = regexp.MustCompile(`\b(by|without) \([^)]*\)`)
	selector = regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^}]*)\}`)
	matcher  = regexp.MustCompile(`([a-z_]+)\s*(=~|!~|!=|=)`)
	labels   = regexp.MustCompile(`\{\{([a-z_]+)\}\}`)
)

// TestDashboard uses everything once, and then looks for every metric and label that
// the dashboard and the documentation name.
func TestDashboard(t *testing.T) {
	var series map[string]float64
	synctest.Test(t, func(t *testing.T) { series = exercise(t) })
	known := map[string][]string{} // the labels of each metric
	for s := range series {
		name, rest, _ := strings.Cut(s, "{")
		for _, m := range matcher.FindAllStringSubmatch(quoted.ReplaceAllString(rest, ""), -1) {
			known[name] = append(known[name], m[1])
		}
		known[name] = append(known[name], "job", "instance") // Prometheus adds these
	}

	b, err := os.ReadFile("../deploy/grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Title  string
		Panels []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr, LegendFormat, RefID string }
		}
	}
	if err := json.Unmarshal(b, &dashboard); err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	ids := map[int]bool{}
	for _, p := range dashboard.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %q: id %d twice, or beyond the edge", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			found := selector.FindAllStringSubmatch(quoted.ReplaceAllString(target.Expr, `""`), -1)
			if len(found) == 0 || strings.Count(target.Expr, "(") != strings.Count(target.Expr, ")") {
				t.Errorf("panel %q: %s", p.Title, target.Expr)
			}
			for _, m := range found {
				there, ok := known[m[1]]
				if !ok {
					t.Errorf("panel %q names the metric %s, which does not exist", p.Title, m[1])
					continue
				}
				shown[strings.TrimSuffix(strings.TrimSuffix(m[1], "_bucket"), "_count")] = true
				wanted := labels.FindAllStringSubmatch(target.LegendFormat, -1)
				wanted = append(wanted, matcher.FindAllStringSubmatch(m[2], -1)...)
				for _, group := range grouping.FindAllString(target.Expr, -1) {
					for _, l := range strings.FieldsFunc(group[strings.IndexByte(group, '(')+1:len(group)-1], func(r rune) bool { return r == ',' || r == ' ' }) {
						wanted = append(wanted, []string{"", l})
					}
				}
				for _, l := range wanted {
					if !slices.Contains(there, l[1]) {
						t.Errorf("panel %q: the metric %s has no label %s", p.Title, m[1], l[1])
					}
				}
			}
		}
	}
	docs, err := os.ReadFile("../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range known {
		base := name
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			base = strings.TrimSuffix(base, suffix)
		}
		if !strings.HasPrefix(base, "bossman_") && !strings.HasPrefix(base, "mcp_") {
			continue
		}
		if !shown[base] {
			t.Errorf("no panel shows %s", base)
		}
		if !strings.Contains(string(docs), "`"+base+"`") {
			t.Errorf("docs/telemetry.md does not explain %s", base)
		}
	}
}

// exercise makes every metric appear.
func exercise(t *testing.T) map[string]float64 {
	b := newBench(t, telemetry.Options{})
	brd := openBoard(t, &board.Options{Observer: b.BoardObserver()})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = b.WatchBoard(ctx, brd) })
	defer wg.Wait()
	b.WatchConnections(100, func() (known, pending int) { return 2, 1 })
	defer cancel()
	s := newServer(b)
	addTools(s)
	c := mcptest.Connect(t, s, &mcptest.Options{Client: mcp.ClientOptions{Observe: b.ClientObserver()}})
	if _, err := c.Call(ctx, "look", nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := brd.Create(ctx, person, board.NewTask{Project: "web", Title: "x"}, ""); err != nil {
		t.Fatal(err)
	}
	h, err := brd.Next(ctx, worker, board.Wish{Projects: []string{"web"}})
	if err != nil {
		t.Fatal(err)
	}
	q, err := brd.Ask(ctx, worker, board.NewQuestion{Claim: h.Claim.Handle, Text: "Which?"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := brd.Answer(ctx, person, q.ID, "this"); err != nil {
		t.Fatal(err)
	}
	if _, err := brd.Done(ctx, worker, h.Claim.Handle, board.Report{Summary: "done"}); err != nil {
		t.Fatal(err)
	}
	b.Database()("claim", time.Millisecond, nil)
	serveOnce(b)
	synctest.Wait()
	return scrape(t, b.Telemetry)
}
