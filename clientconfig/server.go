package clientconfig

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
)

// A Server is one entry of a client's file, as it stands there: Expand fills in the
// variables. It has Args or URL; with neither, it is of a Type that only its client
// understands.
type Server struct {
	Name   string
	Client string // the client's ID
	File   string
	Key    string // where in the file
	Scope  Scope
	Type   string // as the file says it; may be empty

	Args []string // the program and its arguments
	Env  map[string]string
	Dir  string // where it runs

	URL     string
	Headers map[string]string

	// Disabled is set for an entry that is turned off in its client, Shadowed for
	// one that the client does not use because another file has the name too.
	Disabled bool
	Shadowed bool

	// EnvNames are variables that are passed on as they are; HeaderNames are
	// headers, and the variables that hold their values; Bearer is a variable that
	// holds a token.
	EnvNames    []string
	HeaderNames map[string]string
	Bearer      string

	// Err is what is wrong with an entry that cannot be used; Expand gives it. It says
	// nothing about the others of the file.
	Err error

	rule    string
	project string
	inputs  []Input
}

// An Input is a question that a file has for its user.
type Input struct {
	ID          string
	Description string
	Default     string
	Password    bool // not to be shown while it is typed
	Options     []string
}

// Environ is the environment of an expanded server, as mcp.Command takes it.
func (s *Server) Environ() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		out = append(out, name+"="+s.Env[name])
	}
	return out
}

// Header is an expanded server's headers, as streamable.ClientOptions takes them.
func (s *Server) Header() http.Header {
	h := http.Header{}
	for name, value := range s.Headers {
		h.Set(name, value)
	}
	return h
}

// Parse reads the servers in a file's text. Project is the project's folder, and may
// be empty.
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

// settle sorts servers by name, those that count first, and marks the others.
func settle(all []Server) {
	rank := map[Scope]int{Local: 0, Project: 1, User: 2}
	slices.Reverse(all) // files that come later have the say
	slices.SortStableFunc(all, func(a, b Server) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), rank[a.Scope]-rank[b.Scope])
	})
	for i := 1; i < len(all); i++ {
		all[i].Shadowed = all[i].Name == all[i-1].Name
	}
}

// A reader takes servers out of a file's tree.
type reader struct {
	client  *Client
	file    File
	project string
}

func (r *reader) errorf(key, format string, args ...any) error {
	return &Error{File: r.file.Path, Key: key, Err: fmt.Errorf(format, args...)}
}

func join(at, name string) string {
	if strings.ContainsAny(name, `. /\`) {
		name = fmt.Sprintf("%q", name)
	}
	if at == "" {
		return name
	}
	return at + "." + name
}

// walk follows names down the tree. What is not there is nil.
func (r *reader) walk(m map[string]any, at string, names []string) (map[string]any, string, error) {
	for _, name := range names {
		next := m[name]
		at = join(at, name)
		if next == nil {
			return nil, at, nil
		}
		var ok bool
		if m, ok = next.(map[string]any); !ok {
			return nil, at, r.errorf(at, "wants an object, is %s", kind(next))
		}
	}
	return m, at, nil
}

func (r *reader) servers(root map[string]any, at string, scope Scope) ([]Server, error) {
	entries, at, err := r.walk(root, at, r.client.row.Key)
	if err != nil {
		return nil, err
	}
	off, err := r.off(root)
	if err != nil {
		return nil, err
	}
	var out []Server
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		entry, key, err := r.walk(entries, at, []string{name})
		if err == nil && entry == nil {
			continue
		}
		var s *Server
		if err == nil {
			s, err = r.server(name, entry, key)
		}
		if err != nil {
			s = &Server{Name: name, Client: r.client.ID, File: r.file.Path, Key: key, Err: err}
		}
		s.Scope = scope
		s.Disabled = s.Disabled || slices.Contains(off, name)
		out = append(out, *s)
	}
	return out, nil
}

// off are the servers that are turned off by a list of names.
func (r *reader) off(root map[string]any) ([]string, error) {
	path := r.client.row.Off
	if len(path) == 0 {
		return nil, nil
	}
	last := len(path) - 1
	m, at, err := r.walk(root, "", path[:last])
	if err != nil {
		return nil, err
	}
	return r.texts(m, at, path[last])
}

func (r *reader) server(name string, m map[string]any, key string) (*Server, error) {
	f := r.client.row.Fields
	s := &Server{Name: name, Client: r.client.ID, File: r.file.Path, Key: key, rule: r.client.row.Variables, project: r.project}
	var errs []error
	try := func(err error) { errs = append(errs, err) }
	text := func(into *string, field string) {
		var err error
		*into, err = r.text(m, key, field)
		try(err)
	}
	list := func(into *[]string, field string) {
		var err error
		*into, err = r.texts(m, key, field)
		try(err)
	}
	pairs := func(into *map[string]string, field string) {
		var err error
		*into, err = r.pairs(m, key, field)
		try(err)
	}
	text(&s.Type, f.Type)
	way := r.client.row.Types[s.Type]
	if s.Type != "" && way == "" && len(r.client.row.Types) > 0 {
		return s, first(errs) // of a kind that only the client understands
	}

	from, at := m, key // where the command is
	if nested, ok := m[f.Command].(map[string]any); ok && f.Nested != "" {
		from, at = nested, join(key, f.Command)
		f.Command = f.Nested
	}
	command, err := r.text(from, at, f.Command)
	try(err)
	args, err := r.texts(from, at, f.Args)
	try(err)
	s.Env, err = r.pairs(from, at, f.Env)
	try(err)
	if command != "" {
		s.Args = append([]string{command}, args...)
	}
	if f.Argv != "" {
		list(&s.Args, f.Argv)
	}
	list(&s.EnvNames, f.EnvNames)
	text(&s.Dir, f.Dir)
	for _, field := range f.URL {
		if s.URL == "" {
			text(&s.URL, field)
		}
	}
	pairs(&s.Headers, f.Headers)
	pairs(&s.HeaderNames, f.HeadNames)
	text(&s.Bearer, f.BearerName)
	disabled, err := r.flag(m, key, f.Disabled, false)
	try(err)
	enabled, err := r.flag(m, key, f.Enabled, true)
	try(err)
	s.Disabled = disabled || !enabled
	if err := first(errs); err != nil {
		return nil, err
	}
	switch {
	case way == "stdio" && len(s.Args) == 0:
		return nil, r.errorf(key, "is of type %s and has no command", s.Type)
	case way == "http" && s.URL == "":
		return nil, r.errorf(key, "is of type %s and has no address", s.Type)
	case way == "http":
		s.Args, s.Env, s.EnvNames, s.Dir = nil, nil, nil, ""
	case len(s.Args) > 0:
		s.URL, s.Headers, s.HeaderNames, s.Bearer = "", nil, nil, ""
	}
	return s, nil
}

func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) text(m map[string]any, at, name string) (string, error) {
	if name == "" || m[name] == nil {
		return "", nil
	}
	s, ok := m[name].(string)
	if !ok {
		return "", r.errorf(join(at, name), "wants a string, is %s", kind(m[name]))
	}
	return s, r.clean(join(at, name), s)
}

// clean refuses what no program's arguments and environment can hold.
func (r *reader) clean(at, s string) error {
	if strings.ContainsRune(s, 0) {
		return r.errorf(at, "has a zero byte in it")
	}
	return nil
}

func (r *reader) flag(m map[string]any, at, name string, otherwise bool) (bool, error) {
	if name == "" || m[name] == nil {
		return otherwise, nil
	}
	b, ok := m[name].(bool)
	if !ok {
		return false, r.errorf(join(at, name), "wants true or false, is %s", kind(m[name]))
	}
	return b, nil
}

func (r *reader) texts(m map[string]any, at, name string) ([]string, error) {
	if name == "" || m[name] == nil {
		return nil, nil
	}
	at = join(at, name)
	list, ok := m[name].([]any)
	if !ok {
		return nil, r.errorf(at, "wants a list of strings, is %s", kind(m[name]))
	}
	var out []string
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, r.errorf(fmt.Sprintf("%s[%d]", at, i), "wants a string, is %s", kind(v))
		}
		if err := r.clean(fmt.Sprintf("%s[%d]", at, i), s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (r *reader) pairs(m map[string]any, at, name string) (map[string]string, error) {
	if name == "" || m[name] == nil {
		return nil, nil
	}
	in, at, err := r.walk(m, at, []string{name})
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(in)) {
		if in[k] == nil {
			continue
		}
		if k == "" || strings.ContainsAny(k, "=\x00") {
			return nil, r.errorf(join(at, k), "is no name")
		}
		if out[k], err = r.text(in, at, k); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// inputs are the questions of the file.
func (r *reader) inputs(root map[string]any) ([]Input, error) {
	name := r.client.row.Inputs
	if name == "" || root[name] == nil {
		return nil, nil
	}
	list, ok := root[name].([]any)
	if !ok {
		return nil, r.errorf(name, "wants a list, is %s", kind(root[name]))
	}
	var out []Input
	for i, v := range list {
		at := fmt.Sprintf("%s[%d]", name, i)
		m, ok := v.(map[string]any)
		if !ok {
			return nil, r.errorf(at, "wants an object, is %s", kind(v))
		}
		var in Input
		var errs [5]error
		in.ID, errs[0] = r.text(m, at, "id")
		in.Description, errs[1] = r.text(m, at, "description")
		in.Default, errs[2] = r.text(m, at, "default")
		in.Password, errs[3] = r.flag(m, at, "password", false)
		if asked, _ := m["type"].(string); asked == "pickString" {
			in.Options, errs[4] = r.options(m, at)
		}
		if err := first(errs[:]); err != nil {
			return nil, err
		}
		out = append(out, in)
	}
	return out, nil
}

// options are what a question lets choose: texts, or objects with a value.
func (r *reader) options(m map[string]any, at string) ([]string, error) {
	list, _ := m["options"].([]any)
	values := make([]any, 0, len(list))
	for _, v := range list {
		if o, ok := v.(map[string]any); ok {
			v = o["value"]
		}
		values = append(values, v)
	}
	if len(values) > 0 {
		m = map[string]any{"options": values}
	}
	return r.texts(m, at, "options")
}
