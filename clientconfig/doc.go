// Package clientconfig reads the configuration files of other MCP clients, so that
// a server that is set up for one of them need not be set up again:
//
//	c, _ := clientconfig.Find("claude")
//	servers, err := c.Read(places)
//	s, err := servers[0].Expand(values)
//	command := &mcp.Command{Args: s.Args, Env: s.Environ(), Dir: s.Dir}
//	header := s.Header() // for streamable.ClientOptions, with s.URL
//
// The way of a file:
//
//	clients.json   which clients there are: where their files are, in which format,
//	     │         and what the members are called. A client is a row.
//	     ▼
//	file.go        size, kind, who may write it
//	     ▼
//	format.go      JSON with or without comments, TOML or YAML, as one tree of values
//	     ▼
//	server.go      the tree's servers, strict about types
//	     ▼
//	expand.go      variables, by the client's own rule
//
// Reading runs nothing and asks nothing. A file in a project's folder may have been
// written by anybody who can push to it: Server.Scope says where an entry is from,
// and whether to start it is for the caller to decide.
package clientconfig
