package main

import (
	"fmt"
	"slices"
	"strings"
)

// A server is one implementation, set up in one way.
type server struct {
	name string
	bin  string
	args []string
	sse  bool   // answers with an event stream
	tool string // what echo is called there, if it has another name
}

// stdioServers are the servers of the stdio suites. The first is what the
// others are compared with.
func stdioServers(only []string) ([]server, error) {
	return pick([]server{
		{name: "bare", bin: "srv-bare"},
		{name: "bare2", bin: "srv-bare", args: []string{"-variant=bare2"}},
		{name: "lean", bin: "srv-bare", args: []string{"-variant=lean"}},
		{name: "bossman", bin: "srv-bossman"},
		{name: "go-sdk", bin: "srv-gosdk"},
		{name: "go-sdk-raw", bin: "srv-gosdk", args: []string{"-variant=raw"}},
		{name: "mcp-go", bin: "srv-mcpgo"},
	}, only)
}

// httpServers are the servers of the HTTP suites, set up for one revision.
func httpServers(proto string, only []string) ([]server, error) {
	servers, err := pick([]server{
		{name: "bare", bin: "srv-bare", args: []string{"-json"}},
		{name: "bare2", bin: "srv-bare", args: []string{"-json", "-variant=bare2"}},
		{name: "lean", bin: "srv-bare", args: []string{"-json", "-variant=lean"}},
		{name: "lean-sse", bin: "srv-bare", args: []string{"-variant=lean"}, sse: true},
		{name: "bossman", bin: "srv-bossman"},
		{name: "go-sdk", bin: "srv-gosdk", args: []string{"-json"}},
		{name: "go-sdk-sse", bin: "srv-gosdk", sse: true},
		{name: "go-sdk-raw", bin: "srv-gosdk", args: []string{"-json", "-variant=raw"}},
		{name: "mcp-go", bin: "srv-mcpgo"},
		{name: "mcp-go-validate", bin: "srv-mcpgo", args: []string{"-variant=validate"}},
	}, only)
	for i := range servers {
		servers[i].args = append(servers[i].args, fmt.Sprintf("-stateless=%t", proto == modern))
	}
	return servers, err
}

// pick returns the servers with the given names, in the order of the names; all
// of them if there are no names.
func pick(all []server, only []string) ([]server, error) {
	if len(only) == 0 {
		return all, nil
	}
	var picked []server
	for _, name := range only {
		i := slices.IndexFunc(all, func(s server) bool { return s.name == name })
		if i < 0 {
			known := make([]string, len(all))
			for j, s := range all {
				known[j] = s.name
			}
			return nil, fmt.Errorf("no server %q, there are %s: %w", name, strings.Join(known, ", "), errUsage)
		}
		picked = append(picked, all[i])
	}
	return picked, nil
}
