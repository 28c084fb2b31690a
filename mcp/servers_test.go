package mcp_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

func TestServers(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "hello", Description: "Greet."},
		func(context.Context, *mcp.Call, struct{}) (string, error) { return "hello", nil })
	served := make(chan error, 1)
	all := mcp.StartServers(t.Context(), map[string]mcp.ServerConfig{
		"child":  {Command: self("noisy"), Options: quiet(mcp.ClientOptions{})},
		"broken": {Command: self("grumpy"), Options: quiet(mcp.ClientOptions{})},
		"empty":  {},
		"pipe": {Dial: func(context.Context) (jsonrpc.Transport, error) {
			near, far := jsonrpc.Pipe(jsonrpc.Limits{})
			go func() { served <- s.Serve(context.Background(), far) }()
			return near, nil
		}},
	})
	var got []string
	for tool, err := range all.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, tool.Server+"/"+tool.Name)
	}
	if list := strings.Join(got, " "); list != "child/hi pipe/hello" || len(all.Errors()) != 2 || all.Errors()["broken"] == nil {
		t.Errorf("tools %s, errors %v", list, all.Errors())
	}
	if res, err := all.Call(t.Context(), "child", "hi", nil, nil); err != nil || res.Text() != "hi" {
		t.Errorf("Call = %v, %v", res, err)
	}
	if _, err := all.Call(t.Context(), "nobody", "hi", nil, nil); !errors.Is(err, mcp.ErrNotFound) {
		t.Errorf("Call of nobody = %v, want ErrNotFound", err)
	}
	if err := all.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve = %v", err)
	}
}
