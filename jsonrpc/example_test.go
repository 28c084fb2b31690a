package jsonrpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/bossman-dev/bossman/jsonrpc"
)

// Two peers in one process: one adds, the other asks it to.
func ExamplePeer() {
	here, there := jsonrpc.Pipe(jsonrpc.Limits{})
	adder := jsonrpc.NewPeer(there, &jsonrpc.PeerOptions{
		Handle: func(_ context.Context, r *jsonrpc.Message) (json.RawMessage, error) {
			if r.Method != "add" {
				return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method %q not found", r.Method)
			}
			var n []int
			if err := json.Unmarshal(r.Params, &n); err != nil {
				return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "add takes numbers")
			}
			sum := 0
			for _, v := range n {
				sum += v
			}
			return json.Marshal(sum)
		},
	})
	asker := jsonrpc.NewPeer(here, nil)

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	for _, p := range []*jsonrpc.Peer{adder, asker} {
		go func() { done <- p.Run(ctx) }()
	}
	fmt.Println(call(asker, "add", []int{1, 2, 3}))
	fmt.Println(call(asker, "divide", []int{1, 0}))
	cancel()
	<-done
	<-done
	// Output:
	// 6
	// method "divide" not found (-32601)
}

func call(p *jsonrpc.Peer, method string, params any) string {
	result, err := p.Call(context.Background(), method, params)
	if err != nil {
		return err.Error()
	}
	return string(result)
}

// A server on standard streams, here with a string for input. A line that is no
// message is answered, and the next one is served.
func ExampleLines() {
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"greet","params":{"name":"Ada"}}
what?
{"jsonrpc":"2.0","id":"two","method":"greet","params":{"name":"Grace"}}
`)
	out := struct{ io.Writer }{os.Stdout} // without Close: the output stays open
	server := jsonrpc.NewPeer(jsonrpc.Lines(in, out, jsonrpc.Limits{}), &jsonrpc.PeerOptions{
		Handle: func(_ context.Context, r *jsonrpc.Message) (json.RawMessage, error) {
			var params struct{ Name string }
			if json.Unmarshal(r.Params, &params) == nil && params.Name != "" {
				return json.Marshal(params.Name)
			}
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "who?")
		},
	})
	if err := server.Run(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":"Ada"}
	// {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: not valid JSON"}}
	// {"jsonrpc":"2.0","id":"two","result":"Grace"}
}
