// Command client is the program that the official conformance suite starts to
// test a client.
//
//	MCP_CONFORMANCE_SCENARIO=tools_call client http://localhost:1234/mcp
//
// It connects, lists everything, calls every tool, gets every prompt and reads
// every resource. The suite checks the messages it sends.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: client URL")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	if err := run(ctx, os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// setting is what the suite says about a scenario.
type setting struct {
	ToolCalls []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolCalls"`

	// Credentials of this client in the authorization scenarios.
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	Issuer       string `json:"issuer"`
	PrivateKey   string `json:"private_key_pem"`
	Workload     string `json:"valid_jwt"`
	IDPToken     string `json:"idp_token_endpoint"`
	IDPClient    string `json:"idp_client_id"`
	IDToken      string `json:"idp_id_token"`
}

func readSetting() (s setting, err error) {
	err = jsonv2.Unmarshal([]byte(cmp.Or(os.Getenv("MCP_CONFORMANCE_CONTEXT"), "{}")), &s)
	return s, err
}

func run(ctx context.Context, url string) error {
	s, err := readSetting()
	if err != nil {
		return err
	}
	transport, err := authorized(url, &s)
	if err != nil {
		return err
	}
	c, err := streamable.Connect(ctx, url, &streamable.ClientOptions{Transport: transport}, &mcp.ClientOptions{
		Info:   mcp.Implementation{Name: "bossman-conformance", Version: "1.0.0"},
		Elicit: elicit,
		Sample: func(context.Context, *mcp.SampleParams) (*mcp.SampleResult, error) {
			return &mcp.SampleResult{Role: "assistant", Content: mcp.Blocks{mcp.Text("text")}, Model: "none"}, nil
		},
		Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///tmp"}}, nil },
	})
	if err != nil {
		return err
	}
	defer c.Close()
	for _, call := range s.ToolCalls {
		if _, err := c.Call(ctx, call.Name, call.Arguments, nil); err != nil {
			return err
		}
	}
	if len(s.ToolCalls) > 0 {
		return nil
	}
	return lookAround(ctx, c)
}

// elicit accepts everything, and leaves forms at their defaults.
func elicit(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	content, err := jsonv2.Marshal(required(p.RequestedSchema))
	return &mcp.ElicitResult{Action: "accept", Content: content}, err
}

// lookAround uses everything that the server offers.
func lookAround(ctx context.Context, c *mcp.Client) error {
	offers := c.ServerCapabilities()
	if offers.Tools != nil {
		if err := callAll(ctx, c); err != nil {
			return err
		}
	}
	if offers.Resources != nil {
		for r, err := range c.Resources(ctx) {
			if err != nil {
				return err
			}
			if _, err := c.Read(ctx, r.URI, nil); err != nil {
				return err
			}
		}
	}
	if offers.Prompts != nil {
		for p, err := range c.Prompts(ctx) {
			if err != nil {
				return err
			}
			args := map[string]string{}
			for _, a := range p.Arguments {
				args[a.Name] = "text"
			}
			if _, err := c.Prompt(ctx, p.Name, args, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func callAll(ctx context.Context, c *mcp.Client) error {
	var tools []*mcp.Tool
	for t, err := range c.Tools(ctx) {
		if err != nil {
			return err
		}
		tools = append(tools, t)
	}
	for _, t := range tools {
		args := required(t.InputSchema)
		if _, ok := args["schema"]; ok { // returned unchanged
			args["schema"] = tools[0].InputSchema
		}
		if _, err := c.Call(ctx, t.Name, args, nil); err != nil {
			return err
		}
	}
	return nil
}

// required returns a value for every required property without a default.
func required(schema json.RawMessage) map[string]any {
	var s struct {
		Required   []string                   `json:"required"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	values := map[string]any{}
	if jsonv2.Unmarshal(schema, &s) != nil {
		return values
	}
	for _, name := range s.Required {
		kind, chosen := "", json.RawMessage(nil)
		for key, v := range rawjson.Members(s.Properties[name]) {
			switch key {
			case "type":
				kind = rawjson.Text(v)
			case "default", "const":
				chosen = v
			case "enum":
				for e := range rawjson.Elements(v) {
					chosen = e
					break
				}
			}
		}
		switch {
		case chosen != nil:
			values[name] = chosen
		case kind == "number" || kind == "integer":
			values[name] = 5
		case kind == "boolean":
			values[name] = true
		case kind == "array":
			values[name] = []any{}
		case kind == "object":
			values[name] = required(s.Properties[name])
		default:
			values[name] = "text"
		}
	}
	return values
}
