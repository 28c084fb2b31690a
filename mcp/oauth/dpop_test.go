package oauth

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Requests that are refused at the same time, for the same new nonce, are all sent again with it,
// and none of them takes its token for rejected.
func TestTransport_oneNonceForSeveral(t *testing.T) {
	const several = 3
	var first sync.WaitGroup
	first.Add(several)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var claims struct{ Nonce string }
		if parts := strings.Split(r.Header.Get("DPoP"), "."); len(parts) == 3 {
			b, _ := base64.RawURLEncoding.DecodeString(parts[1])
			_ = json.Unmarshal(b, &claims)
		}
		if r.URL.Path != "/mcp" || claims.Nonce == "n1" {
			return
		}
		first.Done()
		first.Wait()
		w.Header().Set("DPoP-Nonce", "n1")
		w.Header().Set("WWW-Authenticate", `DPoP error="use_dpop_nonce"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer srv.Close()
	tr, err := NewTransport(srv.URL+"/mcp", &Options{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := newDPoPKey()
	if err != nil {
		t.Fatal(err)
	}
	tr.current.Store(&activeToken{token: &Token{Access: "x", Type: "DPoP"}, key: key})
	var wg sync.WaitGroup
	for range several {
		wg.Go(func() {
			res, err := (&http.Client{Transport: tr}).Get(srv.URL + "/mcp")
			if err != nil {
				t.Error(err)
				return
			}
			res.Body.Close()
			if res.StatusCode != http.StatusOK {
				t.Errorf("status %s", res.Status)
			}
		})
	}
	wg.Wait()
}
