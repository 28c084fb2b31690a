package streamable

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/replica"
)

// An id that was opened before is refused as soon as its key is gone.
func TestSession_keysRotate(t *testing.T) {
	older, newer := []byte(strings.Repeat("o", 32)), []byte(strings.Repeat("n", 32))
	keys, err := replica.NewKeyring(older)
	if err != nil {
		t.Fatal(err)
	}
	s := mcp.NewServer(mcp.Implementation{Name: "r", Version: "1"}, &mcp.ServerOptions{Keyring: keys})
	t.Cleanup(s.Close)
	c := &client{t: t, url: serve(t, NewHandler(s, nil)), version: "2025-11-25"}
	c.initialize(`{}`)
	for _, step := range []struct {
		keys [][]byte
		want int
	}{
		{[][]byte{older}, 200},
		{[][]byte{newer, older}, 200},
		{[][]byte{newer}, 404},
		{[][]byte{newer, older}, 200},
		{[][]byte{newer}, 404},
	} {
		if err := keys.Rotate(step.keys...); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if status, _ := c.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); status != step.want {
				t.Errorf("ping with keys %q: %d, want %d", step.keys, status, step.want)
			}
		}
	}
}

// More sessions than are remembered stay apart, and are their principals' alone.
func TestOpenID_manySessions(t *testing.T) {
	h := NewHandler(newFixture(t), nil)
	x, err := h.server.Initialize(h.server.NewRequest(initializeMessage(), mcp.Principal{}, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	principal := func(i int) string { return fmt.Sprint("p", i%7) }
	ids := make([]string, 3*len(h.sessions.slots))
	for i := range ids {
		if ids[i], err = h.newID(principal(i), x); err != nil {
			t.Fatal(err)
		}
	}
	keys := map[sessionKey]int{}
	for round := range 3 {
		for i, id := range ids {
			o, err := h.openID(id, principal(i))
			if err != nil || o.id != id || o.principal != principal(i) {
				t.Fatalf("openID(%d) = %+v, %v", i, o, err)
			}
			if first, seen := keys[o.key]; seen != (round > 0) || first != i && seen {
				t.Fatalf("openID(%d) has the key of %d", i, first)
			}
			keys[o.key] = i
			if _, err := h.openID(id, principal(i+1)); err == nil {
				t.Fatalf("openID(%d) by somebody else: no error", i)
			}
			if _, err := h.openID(changed(id), principal(i)); err == nil {
				t.Fatalf("openID(%d), changed: no error", i)
			}
		}
	}
}

// changed is the id with one of its last letters changed.
func changed(id string) string {
	i := len(id) - 3
	if id[i] == 'A' {
		return id[:i] + "B" + id[i+1:]
	}
	return id[:i] + "A" + id[i+1:]
}

func initializeMessage() *jsonrpc.Message {
	return &jsonrpc.Message{
		ID: jsonrpc.IntID(1), Method: "initialize",
		Params: json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}`),
	}
}
