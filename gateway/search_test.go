package gateway

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
)

// corpus reads the tools of 24 servers that people use.
func corpus(t testing.TB) []searchable {
	t.Helper()
	f, err := os.Open("testdata/tools.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Upstream string          `json:"upstream"`
		Tool     json.RawMessage `json:"tool"`
	}
	if err := jsonv2.UnmarshalRead(z, &list); err != nil {
		t.Fatal(err)
	}
	var tools []searchable
	for _, e := range list {
		var tool struct {
			Name string `json:"name"`
		}
		if err := jsonv2.Unmarshal(e.Tool, &tool); err != nil {
			t.Fatal(err)
		}
		tools = append(tools, searchable{e.Upstream + "/" + tool.Name, e.Upstream, e.Tool})
	}
	return tools
}

type testQuery struct {
	Query string   `json:"query"`
	Right []string `json:"right"`
}

func queries(t testing.TB) map[string][]testQuery {
	t.Helper()
	text, err := os.ReadFile("testdata/queries.json")
	if err != nil {
		t.Fatal(err)
	}
	var out map[string][]testQuery
	if err := jsonv2.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// The right tool is among the first. "tuned" are the queries that weights and synonyms were chosen with,
// "seen" were looked at while doing so, and "unseen" were written before the ranking was run on them.
func TestSearch(t *testing.T) {
	tools := corpus(t)
	ix := newIndex(tools)
	all := queries(t)
	for _, c := range []struct {
		set       string
		top, want int
	}{{"tuned", 3, 36}, {"seen", 5, 26}, {"unseen", 5, 34}} {
		hits := 0
		for _, q := range all[c.set] {
			found := ix.search(q.Query, c.top, func(string) bool { return true })
			if slices.ContainsFunc(found, func(key string) bool { return slices.Contains(q.Right, key) }) {
				hits++
			} else {
				t.Logf("%s: %q finds %s, not %s", c.set, q.Query, strings.Join(found, " "), strings.Join(q.Right, " "))
			}
		}
		t.Logf("%s: the right tool is among the first %d in %d of %d queries", c.set, c.top, hits, len(all[c.set]))
		if hits < c.want {
			t.Errorf("%s: the right tool is among the first %d in %d queries, want %d", c.set, c.top, hits, c.want)
		}
	}
}

// Only what the caller may call is found.
func TestSearch_allowed(t *testing.T) {
	ix := newIndex(corpus(t))
	for _, key := range ix.search("merge the merge request", 5, func(key string) bool { return strings.HasPrefix(key, "github/") }) {
		if !strings.HasPrefix(key, "github/") {
			t.Errorf("found %s", key)
		}
	}
}

func FuzzSearch(f *testing.F) {
	f.Add("open a pull request", `{"name":"readTextFile","description":"Reads. It does.","inputSchema":{"properties":{"a":{"enum":["x",1]}}}}`)
	f.Fuzz(func(t *testing.T, query, definition string) {
		ix := newIndex([]searchable{{"a", "up", json.RawMessage(definition)}, {"b", "up", json.RawMessage(`{"name":"other"}`)}})
		if found := ix.search(query, 5, func(string) bool { return true }); len(found) > 2 {
			t.Errorf("search(%q) = %q", query, found)
		}
	})
}

func BenchmarkSearch(b *testing.B) {
	ix := newIndex(corpus(b))
	for b.Loop() {
		ix.search("leave a review comment on a line of a merge request", 5, func(string) bool { return true })
	}
}
