package streamable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/transport"
)

// The inputs of mcp's corpus that a pipe refuses with a single error are refused
// over HTTP as well, in every revision.
func TestAdversarial(t *testing.T) {
	b, err := os.ReadFile("../testdata/adversarial.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	h := NewHandler(newFixture(t), &Options{Hosts: []string{"test"}})
	sessions := map[string]string{}
	ran := 0
	for line := range bytes.Lines(b) {
		var in struct {
			Name      string
			Revisions []string
			Bytes     []byte `json:"base64"`
			Repeat    string
			Times     int
			Suffix    []byte
			Before    []string
			EOF       bool
			Fresh     bool
			Batch     bool
			Expect    []struct {
				ID   json.RawMessage
				Code int
				Null bool
			}
		}
		if err := jsonv2.Unmarshal(line, &in, jsonv2.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		body := slices.Concat(in.Bytes, bytes.Repeat([]byte(in.Repeat), in.Times), in.Suffix)
		if in.EOF || in.Fresh || in.Before != nil || len(in.Expect) != 1 || bytes.Contains(body, []byte("\n")) {
			continue // about lines, or a conversation
		}
		if raceEnabled && len(body) > 64<<10 {
			continue // slow then, and there is nothing to race with
		}
		want := in.Expect[0]
		if want.Code != jsonrpc.CodeParse && want.Code != jsonrpc.CodeInvalidRequest {
			continue
		}
		for _, revision := range in.Revisions {
			ran++
			status, got := adversarial(t, h, sessions, revision, body)
			if in.Batch {
				got = bytes.Trim(got, "[]")
			}
			var answer struct {
				ID    json.RawMessage    `json:"id"`
				Error struct{ Code int } `json:"error"`
			}
			if err := jsonv2.Unmarshal(got, &answer, jsonv2.MatchCaseInsensitiveNames(true)); err != nil {
				t.Errorf("%s/%s: answer %d %q: %v", in.Name, revision, status, got, err)
				continue
			}
			wantID := string(want.ID)
			if r, _ := mcp.ParseRevision(revision); wantID == "" && !transport.RulesOf(r).ErrorWithoutID {
				wantID = "null"
			}
			if answer.Error.Code != want.Code || status != 413 && string(answer.ID) != wantID {
				t.Errorf("%s/%s: %d %s, want code %d and id %s", in.Name, revision, status, got, want.Code, wantID)
			}
		}
	}
	if ran < 100 {
		t.Errorf("only %d inputs", ran)
	}
}

func adversarial(t *testing.T, h *Handler, sessions map[string]string, revision string, body []byte) (int, []byte) {
	t.Helper()
	r := newPost(string(body))
	if rev, _ := mcp.ParseRevision(revision); transport.RulesOf(rev).VersionHeader {
		r.Header.Set("Mcp-Protocol-Version", revision)
	}
	if revision != mcp.LatestRevision.String() {
		if sessions[revision] == "" {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, newPost(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"","version":""}}}`, revision)))
			sessions[revision] = w.Header().Get("Mcp-Session-Id")
		}
		r.Header.Set("Mcp-Session-Id", sessions[revision])
	} else if p, err := jsonrpc.Decode(bytes.Clone(body), jsonrpc.Limits{}); err == nil && p.Message != nil {
		r.Header.Set("Mcp-Method", p.Message.Method)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.Bytes()
}
