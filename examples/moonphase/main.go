// Moonphase is an MCP server over HTTP with one tool, which returns the phase
// of the moon. Callers need the key that the server was started with:
//
//	export MOONPHASE_API_KEY=choose-one
//	go run ./examples/moonphase
//
// An agent configured with the crush.json in this directory can then use it. So
// can curl:
//
//	curl localhost:8181/mcp -H "X-Api-Token: $MOONPHASE_API_KEY" -d '{"jsonrpc":"2.0",
//	    "id":1,"method":"tools/list"}'
//	curl localhost:8181/mcp -H "X-Api-Token: $MOONPHASE_API_KEY" -d '{"jsonrpc":"2.0",
//	    "id":2,"method":"tools/call","params":{"name":"moonphase",
//	    "arguments":{"datetime":"2024-04-08T18:21:00Z"}}}'
//
// This file is the server, from the command line down to the tool; moon.go does
// the astronomy.
package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

const defaultAddr = "localhost:8181"

func main() {
	addr := flag.String("addr", defaultAddr, "serve http://`ADDRESS`/mcp, to clients on this machine")
	flag.Parse()
	if err := run(*addr, os.Getenv("MOONPHASE_API_KEY")); err != nil {
		log.Fatal(err)
	}
}

// run serves until the program receives Ctrl-C or SIGTERM. It finishes running
// calls first.
func run(addr, key string) error {
	if key == "" {
		return errors.New("MOONPHASE_API_KEY is not set: choose a key, and give it to the server and to its clients")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := newServer()
	defer s.Close()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	log.Printf("serving http://%s/mcp", l.Addr())
	h := newHandler(s, key)
	return streamable.Serve(ctx, l, h, newMux(h))
}

// newMux serves h at /mcp, and nothing elsewhere.
func newMux(h http.Handler) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	return mux
}

// newHandler serves s over HTTP. To serve other machines, set Options.Hosts to
// the host names of this one.
func newHandler(s *mcp.Server, key string) *streamable.Handler {
	return streamable.NewHandler(s, &streamable.Options{
		Sessionless: true, // one POST with a message in it is enough
		Authenticate: func(r *http.Request) (mcp.Principal, error) {
			if !sameKey(keyOf(r), key) {
				return mcp.Principal{}, &streamable.AuthError{Text: "the key is missing or wrong: send it as X-Api-Token"}
			}
			return mcp.Principal{ID: "key holder"}, nil
		},
	})
}

// keyOf returns the key in a request, from X-Api-Token or as a bearer token.
func keyOf(r *http.Request) string {
	if key := r.Header.Get("X-Api-Token"); key != "" {
		return key
	}
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return key
}

// sameKey compares in constant time, so that a key cannot be guessed letter by
// letter. Hashing hides its length too.
func sameKey(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

type moonArgs struct {
	Datetime string `json:"datetime,omitzero" jsonschema:"the time in RFC 3339, such as 2024-04-08T18:21:00Z; default now"`
}

// newServer returns a server with one tool. The tool's arguments and result are
// Go types, from which the JSON Schemas for clients are inferred.
func newServer() *mcp.Server {
	s := mcp.NewServer(mcp.Implementation{Name: "moonphase", Version: "1.0.0"}, nil)
	mcp.AddTool(s, mcp.Tool{
		Name:        "moonphase",
		Description: "Get the phase of the moon at a time: its age in days, and how much of it is lit.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(false)},
	}, moonphase)
	return s
}

// moonphase is the tool. A ToolError is shown to the model, so it says how to
// fix the call.
func moonphase(_ context.Context, _ *mcp.Call, q moonArgs) (moon, error) {
	if q.Datetime == "" {
		return moonAt(time.Now()), nil
	}
	t, err := time.Parse(time.RFC3339, q.Datetime)
	if err != nil {
		return moon{}, &mcp.ToolError{
			Text: "datetime is not a time in RFC 3339. Write the date, the time and the offset from UTC, " +
				"such as 2024-04-08T18:21:00Z or 2024-04-08T20:21:00+02:00, or omit datetime for the current time.",
		}
	}
	return moonAt(t), nil
}
