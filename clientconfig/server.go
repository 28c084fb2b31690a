package clientconfig

import (
	"cmp"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
)

// A Server is one entry of a client's file, unexpanded: Expand fills in the
// variables. It has Args or URL. If it has neither, its Type is one that only
// its client supports.
type Server struct {
	Name   string
	Client string // the client's ID
	File   string
	Key    string // path in the file
	Scope  Scope
	Type   string // as in the file; may be empty

	Args []string // program and arguments
	Env  map[string]string
	Dir  string // working directory

	URL     string
	Headers map[string]string

	// Disabled means that the entry is disabled in its client, Shadowed that
	// the client uses another entry with the same name.
	Disabled bool
	Shadowed bool

	// EnvNames lists variables that are passed through. HeaderNames maps
	// headers to the variables with their values. Bearer is a variable with a
	// bearer token.
	EnvNames    []string
	HeaderNames map[string]string
	Bearer      string

	// Err says why the entry cannot be used; Expand returns it. Other entries
	// of the file are not affected.
	Err error

	rule    string
	project string
	inputs  []Input
}

// An Input is a value that a file asks its user for.
type Input struct {
	ID          string
	Description string
	Default     string
	Password    bool // must not be echoed
	Options     []string
}

// Environ returns the environment of an expanded server, for mcp.Command.
func (s *Server) Environ() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		out = append(out, name+"="+s.Env[name])
	}
	return out
}

// Header returns the headers of an expanded server, for
// streamable.ClientOptions.
func (s *Server) Header() http.Header {
	h := http.Header{}
	for name, value := range s.Headers {
		h.Set(name, value)
	}
	return h
}

// Parse parses the servers in a file's text. project is the project directory
// and may be empty.
func (c *Client) Parse(text []byte, f File, project string) ([]Server, error) {
	root, err := parse(c.row.Format, text)
	if err != nil {
		return nil, &Error{File: f.Path, Err: err}
	}
	r := reader{client: c, file: f, project: project}
	inputs, err := r.inputs(root)
	if err != nil {
		return nil, err
	}
	servers, err := r.servers(root, "", f.Scope)
	if err != nil {
		return nil, err
	}
	if len(c.row.Within) > 0 && f.Scope == User && project != "" {
		in, at, err := r.walk(root, "", c.row.Within)
		if err != nil {
			return nil, err
		}
		own, at, err := r.walk(in, at, []string{filepath.ToSlash(project)})
		if err != nil {
			return nil, err
		}
		more, err := r.servers(own, at, Local)
		if err != nil {
			return nil, err
		}
		servers = append(servers, more...)
	}
	for i := range servers {
		servers[i].inputs = inputs
	}
	return servers, nil
}

// markShadowed sorts servers by name and precedence, and marks those that are
// shadowed.
func markShadowed(all []Server) {
	rank := map[Scope]int{Local: 0, Project: 1, User: 2}
	slices.Reverse(all) // later files take precedence
	slices.SortStableFunc(all, func(a, b Server) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), rank[a.Scope]-rank[b.Scope])
	})
	for i := 1; i < len(all); i++ {
		all[i].Shadowed = all[i].Name == all[i-1].Name
	}
}
