package server

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestForeign_saysTheFlag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		f := &foreign{log: slog.New(slog.NewTextHandler(&out, nil))}
		said := func(header, host, origin string) string {
			out.Reset()
			r := httptest.NewRequest("POST", "http://"+host+"/mcp", nil)
			r.Header.Set("Origin", origin)
			f.refused(r, header)
			return out.String()
		}
		if got := said("Host", "bossman.example.org", ""); !strings.Contains(got, `flag="--host bossman.example.org"`) {
			t.Errorf("a forgotten name: %q", got)
		}
		for range 3 {
			if got := said("Host", "evil.example", ""); got != "" {
				t.Errorf("a line for each of many requests: %q", got)
			}
		}
		time.Sleep(foreignEvery)
		got := said("Origin", "bossman.example.org", "https://app.example.org")
		if !strings.Contains(got, `flag="--origin https://app.example.org"`) || !strings.Contains(got, "more=3") {
			t.Errorf("a forgotten page: %q", got)
		}
	})
}
