package clientconfig

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Values are what variables stand for.
type Values struct {
	// Getenv gives a variable of the environment. Nil: none are set.
	Getenv func(name string) (string, bool)
	// Input asks the user a question of the file. Nil: nobody can be asked.
	Input func(in Input) (string, error)
	// Home is the user's folder.
	Home string
}

// Expand is the server with all variables filled in, by the rule of its client. One
// that is not set is an error, which says where it is needed; it wraps ErrUnset.
func (s *Server) Expand(v Values) (*Server, error) {
	out := *s
	switch {
	case s.Err != nil:
		return nil, s.Err
	case len(s.Args) == 0 && s.URL == "" && s.Type == "":
		return nil, s.errorf("has neither a command nor an address")
	case len(s.Args) == 0 && s.URL == "":
		return nil, s.errorf("is of type %q, which only %s understands", s.Type, s.Client)
	}
	x := &expander{server: s, values: v, asked: map[string]string{}}
	out.Args = x.list("args", s.Args)
	out.Env = x.pairs("env", s.Env)
	out.Dir = x.text("dir", s.Dir)
	out.URL = x.text("url", s.URL)
	out.Headers = x.pairs("headers", s.Headers)
	for _, name := range s.EnvNames {
		// What the entry says itself has the say.
		if _, ok := out.Env[name]; !ok {
			put(&out.Env, name, x.env(name, "env"))
		}
	}
	for _, header := range slices.Sorted(maps.Keys(s.HeaderNames)) {
		put(&out.Headers, header, x.env(s.HeaderNames[header], "headers."+header))
	}
	if s.Bearer != "" {
		put(&out.Headers, "Authorization", "Bearer "+x.env(s.Bearer, "headers.Authorization"))
	}
	if x.err != nil {
		return nil, x.err
	}
	for _, header := range slices.Sorted(maps.Keys(out.Headers)) {
		if strings.ContainsAny(header+out.Headers[header], "\r\n\x00") {
			return nil, s.errorf("header %q has a line end in it", header)
		}
	}
	// Clients start what a project's file names in the project's folder.
	if len(out.Args) > 0 && s.project != "" && s.Scope != User {
		if !filepath.IsAbs(out.Dir) {
			out.Dir = filepath.Join(s.project, out.Dir)
		}
	}
	out.EnvNames, out.HeaderNames, out.Bearer = nil, nil, ""
	return &out, nil
}

func put(m *map[string]string, k, v string) {
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[k] = v
}

func (s *Server) errorf(format string, args ...any) error {
	return &Error{File: s.File, Key: s.Key, Err: fmt.Errorf(format, args...)}
}

// An expander fills in the variables of one server. The first error stays.
type expander struct {
	server *Server
	values Values
	asked  map[string]string
	err    error
}

func (x *expander) list(at string, in []string) []string {
	var out []string
	for i, s := range in {
		out = append(out, x.text(fmt.Sprintf("%s[%d]", at, i), s))
	}
	return out
}

func (x *expander) pairs(at string, in map[string]string) map[string]string {
	if in == nil {
		return nil
	}
	out := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(in)) {
		out[k] = x.text(at+"."+k, in[k])
	}
	return out
}

func (x *expander) fail(err error) string {
	if x.err == nil {
		x.err = err
	}
	return ""
}

// env is the value of a variable that must be set.
func (x *expander) env(name, at string) string {
	if x.values.Getenv != nil {
		if v, ok := x.values.Getenv(name); ok {
			return v
		}
	}
	return x.fail(x.server.errorf("%s needs the variable %s, which is %w", at, name, ErrUnset))
}

// text fills in one value by the client's rule:
//
//	none     nothing is filled in
//	braces   ${V}, ${V:-otherwise}
//	shell    the same, and $V
//	named    ${env:V}, ${input:id}, ${workspaceFolder}, ${userHome}
//	plain    {env:V}
func (x *expander) text(at, s string) string {
	open := "${"
	switch x.server.rule {
	case "none", "":
		return s
	case "plain":
		open = "{"
	}
	var out strings.Builder
	for s != "" && x.err == nil {
		i := strings.IndexAny(s, "${")
		if i < 0 {
			break
		}
		out.WriteString(s[:i])
		s = s[i:]
		inside, after, closed := strings.Cut(strings.TrimPrefix(s, open), "}")
		switch {
		case strings.HasPrefix(s, open) && closed:
			v, known := x.variable(at, inside)
			if !known {
				out.WriteString(s[:len(open)])
				s = s[len(open):]
				continue
			}
			out.WriteString(v)
			s = after
		case x.server.rule == "shell" && strings.HasPrefix(s, "$("):
			return x.fail(x.server.errorf("%s has a command in $(…), and nothing is run to read a file: put its output into a variable", at))
		case x.server.rule == "shell" && s[0] == '$' && nameLength(s[1:]) > 0:
			n := 1 + nameLength(s[1:])
			out.WriteString(x.env(s[1:n], at))
			s = s[n:]
		default:
			out.WriteByte(s[0])
			s = s[1:]
		}
	}
	return out.String() + s
}

// variable is what stands within braces. What is no variable of the client's is not
// known, and stays.
func (x *expander) variable(at, inside string) (v string, known bool) {
	switch x.server.rule {
	case "named":
		return x.named(at, inside)
	case "plain":
		if name, ok := strings.CutPrefix(inside, "env:"); ok {
			return x.env(name, at), true
		}
		if strings.HasPrefix(inside, "file:") {
			return x.fail(x.server.errorf("%s wants the contents of a file, {%s}, which are not read: put them into a variable", at, inside)), true
		}
		return "", false
	}
	name, otherwise, has := strings.Cut(inside, ":-")
	if nameLength(name) != len(name) || name == "" {
		return x.fail(x.server.errorf("%s has ${%s}, which names no variable", at, inside)), true
	}
	if has {
		if x.values.Getenv != nil {
			if v, ok := x.values.Getenv(name); ok && v != "" {
				return v, true
			}
		}
		return otherwise, true
	}
	return x.env(name, at), true
}

func (x *expander) named(at, inside string) (string, bool) {
	kind, name, _ := strings.Cut(inside, ":")
	switch kind {
	case "env":
		return x.env(name, at), true
	case "input":
		return x.input(at, name), true
	case "userHome":
		if x.values.Home != "" {
			return x.values.Home, true
		}
	case "workspaceFolder":
		if x.server.project != "" {
			return x.server.project, true
		}
	case "workspaceFolderBasename":
		if x.server.project != "" {
			return filepath.Base(x.server.project), true
		}
	case "pathSeparator", "/":
		return string(filepath.Separator), true
	}
	return x.fail(x.server.errorf("%s needs ${%s}, which is %w", at, inside, ErrUnset)), true
}

// input asks the user, once for each question.
func (x *expander) input(at, id string) string {
	if v, ok := x.asked[id]; ok {
		return v
	}
	in := Input{ID: id}
	if i := slices.IndexFunc(x.server.inputs, func(in Input) bool { return in.ID == id }); i >= 0 {
		in = x.server.inputs[i]
	}
	if x.values.Input == nil {
		return x.fail(x.server.errorf("%s needs an answer to ${input:%s}, which is %w", at, id, ErrUnset))
	}
	v, err := x.values.Input(in)
	if err != nil {
		if errors.Is(err, ErrUnset) {
			return x.fail(x.server.errorf("%s needs an answer to ${input:%s}, which is %w", at, id, err))
		}
		return x.fail(x.server.errorf("%s needs an answer to ${input:%s}: %w", at, id, err))
	}
	x.asked[id] = v
	return v
}

// nameLength is how much of a text is a variable's name.
func nameLength(s string) int {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(s)
}
