package mcp

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestAppendString(t *testing.T) {
	check := func(s string) {
		t.Helper()
		want, _ := jsontext.AppendQuote(nil, s)
		if got := string(appendString([]byte("x"), s)); got != "x"+string(want) {
			t.Fatalf("appendString(%q) = %s, want x%s", s, got, want)
		}
		if !jsontext.Value(want).IsValid() {
			t.Fatalf("appendString(%q) = %s, not valid", s, want)
		}
	}
	for c := range 256 { // every byte at every place of a word, and after it
		for at := range 20 {
			b := []byte(strings.Repeat("a", 20))
			b[at] = byte(c)
			check(string(b))
			check(string(b[:at+1]))
		}
	}
	for _, s := range []string{"", "é", "日本語 text", "\u2028", "\xff\xfe", "a\xc3", `{"a":"b"}`, "\x7f"} {
		check(s)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		b := make([]byte, rnd.IntN(40))
		for i := range b {
			b[i] = byte(0x20 + rnd.IntN(0x60))
			if rnd.IntN(60) == 0 {
				b[i] = byte(rnd.IntN(256))
			}
		}
		check(string(b))
	}
}

func TestAppendString_allocatesNothing(t *testing.T) {
	b := make([]byte, 0, 1024)
	s := strings.Repeat("plain text ", 50)
	if n := testing.AllocsPerRun(100, func() { b = appendString(b[:0], s) }); n != 0 {
		t.Errorf("appendString allocates %v times, want 0", n)
	}
}

func TestAppendRaw(t *testing.T) {
	got, err := appendRaw([]byte("{"), "a", json.RawMessage("{\n \"x\": 1.0\r\n}"))
	if want := `{"a":{"x":1.0}`; err != nil || string(got) != want {
		t.Errorf("appendRaw = %s, %v, want %s on one line", got, err, want)
	}
	for _, bad := range []string{"", "{", "1 2", `{"a":1,"a":2}`, "\"\n\""} {
		if got, err := appendRaw([]byte("{"), "a", json.RawMessage(bad)); err == nil {
			t.Errorf("appendRaw(%q) = %s, want an error", bad, got)
		}
	}
}

func BenchmarkAppendString(b *testing.B) {
	s := strings.Repeat("The quick brown fox. ", 50)
	buf := make([]byte, 0, 2048)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		buf = appendString(buf[:0], s)
	}
}
