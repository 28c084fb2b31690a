package auth

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	oldjson "encoding/json"

	"github.com/go-json-experiment/json"
)

// TestSecret_neverPrints tries every way in which a value gets into a text.
func TestSecret_neverPrints(t *testing.T) {
	const canary = "canary-7f3a"
	s := Secret(canary)
	holder := struct {
		S Secret
		P *Secret
		M map[string]Secret
		L []Secret
	}{s, &s, map[string]Secret{"k": s}, []Secret{s}}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%10.3s", "%T %v"} {
		for _, v := range []any{s, &s, holder, &holder, fmt.Errorf("failed: %v", s)} {
			fmt.Fprintf(&out, verb, v)
		}
	}
	fmt.Fprint(&out, s, holder)
	fmt.Fprintln(&out, s, holder)
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("m", "s", s, "p", &s, "holder", holder, "any", slog.AnyValue(s))
	}
	for _, marshal := range []func(any) ([]byte, error){
		func(v any) ([]byte, error) { return json.Marshal(v) },
		oldjson.Marshal,
	} {
		text, err := marshal(holder)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
	}
	for _, bad := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary)} {
		if strings.Contains(out.String(), bad) {
			t.Errorf("it is printed as %s:\n%s", bad, out.String())
		}
	}
	if !strings.Contains(out.String(), redacted) || s.Reveal() != canary {
		t.Error("neither redacted nor revealed")
	}
}
