package clientconfig_test

import (
	"fmt"

	"github.com/bossman-dev/bossman/clientconfig"
)

func ExampleClient_Parse() {
	c, _ := clientconfig.Find("cursor")
	text := `{"mcpServers": {"docs": {"command": "docs-server", "env": {"KEY": "${env:DOCS_KEY}"}}}}`
	servers, err := c.Parse([]byte(text), clientconfig.File{Path: "mcp.json", Scope: clientconfig.User}, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := servers[0].Expand(clientconfig.Values{
		Getenv: func(name string) (string, bool) { return "secret", name == "DOCS_KEY" },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Name, s.Args, s.Environ())
	// Output: docs [docs-server] [KEY=secret]
}
