package mcp

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"
)

// A published schema: the definitions of one revision, or of an extension.
type published struct {
	Old map[string]json.RawMessage `json:"definitions"`
	New map[string]json.RawMessage `json:"$defs"`
}

// readPublished reads a published schema, or skips the test where there is none.
func readPublished(t *testing.T, name string) published {
	t.Helper()
	dir := cmp.Or(os.Getenv("BOSSMAN_SCHEMA"), "../../shared/schema")
	b, err := os.ReadFile(filepath.Join(dir, name+".json"))
	if err != nil {
		t.Skipf("the published schemas are not at hand (set BOSSMAN_SCHEMA to their folder): %v", err)
	}
	var p published
	if err := jsonv2.Unmarshal(b, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p published) def(name string) (json.RawMessage, bool) {
	if p.Old != nil {
		d, ok := p.Old[name]
		return d, ok
	}
	d, ok := p.New[name]
	return d, ok
}

// resolve makes a checker for objects whose members are named after definitions.
func (p published) resolve(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	keyword, defs := "$defs", p.New
	root := map[string]any{}
	if p.Old != nil {
		keyword, defs = "definitions", p.Old
		root["$schema"] = "http://json-schema.org/draft-07/schema#"
	}
	members := map[string]any{}
	for name := range defs {
		members[name] = map[string]any{"$ref": "#/" + keyword + "/" + name}
	}
	root[keyword], root["properties"], root["additionalProperties"] = defs, members, false
	b, err := jsonv2.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := s.UnmarshalJSON(b); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// methods finds the method names in a definition, following its references to
// other definitions of messages.
func (p published) methods(t *testing.T, name string) []string {
	raw, ok := p.def(name)
	if !ok {
		return nil
	}
	var d struct {
		AnyOf []struct {
			Ref string `json:"$ref"`
		} `json:"anyOf"`
		AllOf      []json.RawMessage `json:"allOf"`
		Properties struct {
			Method struct {
				Const string `json:"const"`
			} `json:"method"`
		} `json:"properties"`
	}
	if err := jsonv2.Unmarshal(raw, &d); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var found []string
	if m := d.Properties.Method.Const; m != "" {
		found = append(found, m)
	}
	for _, part := range d.AllOf {
		inner := published{New: map[string]json.RawMessage{name: part}}
		found = append(found, inner.methods(t, name)...)
	}
	for _, a := range d.AnyOf {
		found = append(found, p.methods(t, a.Ref[strings.LastIndex(a.Ref, "/")+1:])...)
	}
	return found
}

// experimentalTasks are methods of 2025-11-25 that we do not speak.
var experimentalTasks = []string{"tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "notifications/tasks/status"}

func TestVocabulary_matchesPublishedSchemas(t *testing.T) {
	sides := []struct {
		union string
		kind  wordKind
		says  func(word, Revision) bool
	}{
		{"ClientRequest", wordRequest, word.fromClient},
		{"ClientNotification", wordNotification, word.fromClient},
		{"ServerRequest", wordRequest, word.fromServer},
		{"ServerNotification", wordNotification, word.fromServer},
	}
	for _, r := range Revisions() {
		t.Run(r.String(), func(t *testing.T) {
			p := readPublished(t, r.String())
			for _, side := range sides {
				want := p.methods(t, side.union)
				if r == R20251125 {
					want = slices.DeleteFunc(want, func(m string) bool { return slices.Contains(experimentalTasks, m) })
				}
				if r == LatestRevision {
					ext := readPublished(t, "ext-tasks")
					switch side.union {
					case "ClientRequest":
						for _, name := range []string{"GetTaskRequest", "UpdateTaskRequest", "CancelTaskRequest"} {
							want = append(want, ext.methods(t, name)...)
						}
					case "ServerNotification":
						want = append(want, ext.methods(t, "TaskStatusNotification")...)
					}
				}
				var got []string
				for method := range vocabulary {
					if w, ok := known(method, r); ok && w.kind == side.kind && side.says(w, r) {
						got = append(got, method)
					}
				}
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("%s = %q, want %q", side.union, got, want)
				}
			}
		})
	}
}

func TestKnown(t *testing.T) {
	tests := []struct {
		method         string
		r              Revision
		client, server bool
	}{
		{"ping", R20251125, true, true},
		{"ping", R20260728, false, false},
		{"notifications/progress", R20251125, true, true},
		{"notifications/progress", R20260728, false, true},
		{"elicitation/create", R20250326, false, false},
		{"elicitation/create", R20250618, false, true},
		{"tasks/get", R20251125, false, false},
		{"tools/call", 0, false, false},
		{"no/such", R20260728, false, false},
	}
	for _, tt := range tests {
		w, ok := known(tt.method, tt.r)
		if ok != (tt.client || tt.server) || w.fromClient(tt.r) != tt.client || w.fromServer(tt.r) != tt.server {
			t.Errorf("known(%q, %v) = %+v, %v, want client %v, server %v", tt.method, tt.r, w, ok, tt.client, tt.server)
		}
	}
}

// known looks a method up. It reports false if neither side may say it in
// revision r.
func known(method string, r Revision) (word, bool) {
	w, ok := vocabulary[method]
	return w, ok && (w.fromClient(r) || w.fromServer(r))
}
