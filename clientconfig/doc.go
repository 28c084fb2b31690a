// Package clientconfig reads and changes the configuration files of other MCP clients.
//
// Servers that are configured for them can be used without configuring them again:
//
//	c, _ := clientconfig.Find("claude")
//	servers, err := c.Read(clientconfig.Here())
//	…
//	s, err := servers[0].Expand(clientconfig.Values{Getenv: os.LookupEnv})
//	…
//	command := &mcp.Command{Args: s.Args, Env: s.Environ(), Dir: s.Dir}
//	header := s.Header() // for streamable.ClientOptions, with s.URL
//
// Client.Install plans how a server is added to the files of a client, and
// Client.Uninstall how it is removed. Nothing is written before Plan.Write.
//
// Only the bytes of an entry are changed: comments and formatting stay. A text in which
// that is not safe is refused, and the error says what to write by hand.
//
// Reading runs no program and asks no questions. A file in a project directory may
// have been written by anyone who can push to the project. Server.Scope says where an
// entry comes from; the caller decides whether to start it.
package clientconfig

// How a file is read:
//
//	clients.json   the known clients: where their files are, in which format, and
//	     │         the names of the members; one row per client
//	     ▼
//	file.go        checks size, kind and permissions, and where links of a project lead
//	     ▼
//	format.go      parses JSON with or without comments, TOML or YAML into one tree
//	     ▼
//	reader.go      extracts the servers from the tree; strict about types
//	     ▼
//	expand.go      expands variables, by the rules of the client
//
// How a file is changed, with Client.Install, Client.Uninstall and Plan.Write:
//
//	clients.json   what an entry has, with a command or a URL
//	     │
//	     ▼
//	template.go    fills in the entry
//	     ▼
//	plan.go        decides what is missing, or has to go
//	     ▼
//	change.go      puts it into the text, parses the result and compares all other values
//	     │
//	     ├── editjson.go, edittoml.go, edityaml.go change only the bytes of the entry
//	     ▼
//	target.go      keeps a backup, and replaces the file in one step
