package auth

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

func TestRequest(t *testing.T) {
	a := New(newMemory(), nil)
	_, text := create(t, a, "ada", 0)
	_, second := create(t, a, "ada", 0)
	for what, c := range map[string]struct {
		header http.Header
		want   error
		status int
	}{
		"a key":                  {http.Header{"X-Api-Token": {text}}, nil, 0},
		"a bearer":               {http.Header{"Authorization": {"Bearer " + text}}, nil, 0},
		"in another letter case": {http.Header{"Authorization": {"bearer  " + text}}, nil, 0},
		"nothing":                {http.Header{}, ErrMissing, 401},
		"another scheme":         {http.Header{"Authorization": {"Basic YTpi"}}, ErrMissing, 401},
		"both":                   {http.Header{"X-Api-Token": {text}, "Authorization": {"Bearer " + text}}, ErrMalformed, 400},
		"both, one good":         {http.Header{"X-Api-Token": {"x"}, "Authorization": {"Bearer " + text}}, ErrMalformed, 400},
		"two keys":               {http.Header{"X-Api-Token": {text, second}}, ErrMalformed, 400},
		"two bearers":            {http.Header{"Authorization": {"Bearer " + text, "Bearer " + second}}, ErrMalformed, 400},
		"two in one":             {http.Header{"Authorization": {"Bearer " + text + ", Bearer " + second}}, ErrMalformed, 400},
		"an empty key":           {http.Header{"X-Api-Token": {""}}, ErrMalformed, 400},
		"an empty bearer":        {http.Header{"Authorization": {"Bearer "}}, ErrMalformed, 400},
		"the scheme alone":       {http.Header{"Authorization": {"Bearer"}}, ErrMalformed, 400},
		"a space in it":          {http.Header{"X-Api-Token": {text + " "}}, ErrMalformed, 400},
		"a huge one":             {http.Header{"X-Api-Token": {strings.Repeat("a", maxCredential+1)}}, ErrMalformed, 400},
		"a wrong one":            {http.Header{"X-Api-Token": {forged("aaaaaaaaaaaa")}}, ErrUnauthenticated, 401},
		"no key":                 {http.Header{"X-Api-Token": {"hunter2"}}, ErrUnauthenticated, 401},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://bossman.example/mcp", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header, r.RemoteAddr = c.header, "192.0.2.1:4711"
		p, err := a.Request(r)
		if !errors.Is(err, c.want) || (c.want == nil) != (p != nil) {
			t.Errorf("%s: Request() = %v, %v, want %v", what, p, err, c.want)
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("%s: %v is not ErrUnauthenticated", what, err)
		}
		if status, after := Status(err); status != c.status || after != 0 {
			t.Errorf("%s: Status() = %d, %d, want %d", what, status, after, c.status)
		}
	}
	if status, after := Status(unavailable(errDown)); status != 503 || after < 1 {
		t.Errorf("Status(unavailable) = %d, %d", status, after)
	}
}
