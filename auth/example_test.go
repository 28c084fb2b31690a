package auth_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/store/sqlite"
)

// A server asks each request who has sent it.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "auth")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "board.db"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	a := auth.New(store, nil) // a server also runs a.Run
	_, key, err := a.CreateKey(ctx, auth.NewKey{Owner: "ada", Project: "web", Role: auth.Worker})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("a key prints itself as", key)

	serve := func(w http.ResponseWriter, r *http.Request) {
		p, err := a.Request(r)
		if err != nil {
			status, _ := auth.Status(err)
			w.Header().Set("WWW-Authenticate", a.Challenge(err))
			w.WriteHeader(status)
			fmt.Println(status, a.Challenge(err))
			return
		}
		fmt.Println(p.Name, "is", p.Role("web"), "in web, and may plan there:", p.May("web", auth.Lead))
	}
	for _, token := range []string{key.Reveal(), "guessed"} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Header.Set("X-Api-Token", token)
		serve(httptest.NewRecorder(), r)
	}
	// Output:
	// a key prints itself as [redacted]
	// ada's agent is worker in web, and may plan there: false
	// 401 Bearer realm="bossman", error="invalid_token"
}

// A runaway agent is told when to come again.
func ExampleLimiter() {
	var l auth.Limiter
	for range 20 {
		l.Allow("key:otter", auth.Questions)
	}
	after, ok := l.Allow("key:otter", auth.Questions)
	fmt.Println(ok, after > 0)
	// Output: false true
}
