package main

import (
	"encoding/json"
	"testing"
)

func TestNewCall(t *testing.T) {
	for _, proto := range []string{legacy, modern} {
		m := newCall(proto, 100, "")
		m.setID(123456789)
		var got struct {
			ID     int
			Params struct {
				Arguments struct{ Text string }
				Meta      map[string]any `json:"_meta"`
			}
		}
		if err := json.Unmarshal(m.bytes, &got); err != nil {
			t.Fatalf("newCall(%s) = %s: %v", proto, m.bytes, err)
		}
		if got.ID != 123456789 || len(got.Params.Arguments.Text) != 100 || (got.Params.Meta != nil) != (proto == modern) {
			t.Errorf("newCall(%s) = %s", proto, m.bytes)
		}
	}
}

func TestAnswered(t *testing.T) {
	for _, test := range []struct {
		line string
		id   int
		ok   bool
	}{
		{`{"jsonrpc":"2.0","id":7,"result":{}}`, 7, true},
		{`{"result":{"content":[{"type":"text","text":"long enough to push it out of the head"}]},"jsonrpc":"2.0","id":8}`, 8, true},
		{`{"jsonrpc":"2.0","id":9,"error":{"code":-32603,"message":""}}`, 0, false},
		{`{"jsonrpc":"2.0","method":"notifications/message"}`, 0, false},
	} {
		if id, ok := answered([]byte(test.line)); id != test.id || ok != test.ok {
			t.Errorf("answered(%s) = %d, %v, want %d, %v", test.line, id, ok, test.id, test.ok)
		}
	}
}

func TestCheckAnswer(t *testing.T) {
	for _, test := range []struct {
		body string
		ok   bool
	}{
		{`{"id":1,"result":{"content":[{"type":"text","text":"abc"}]}}`, true},
		{"event: message\ndata: {\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"abc\"}]}}\n\n", true},
		{`{"id":1,"result":{"content":[{"type":"text","text":"ab"}]}}`, false},
		{`{"id":1,"result":{"isError":true,"content":[{"type":"text","text":"abc"}]}}`, false},
		{`{"id":1,"error":{"code":-32601,"message":"method not found"}}`, false},
		{`{"id":1,`, false},
	} {
		if err := checkAnswer([]byte(test.body), 3); (err == nil) != test.ok {
			t.Errorf("checkAnswer(%q) = %v", test.body, err)
		}
	}
}
