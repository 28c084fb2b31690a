package clientconfig

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Values provides the values of variables.
type Values struct {
	// Getenv returns an environment variable. If nil, none are set.
	Getenv func(name string) (string, bool)
	// Input asks the user for an input. If nil, no input is available.
	Input func(in Input) (string, error)
	// Home is the user's home directory.
	Home string
}

// Expand returns the server with all variables expanded by the rules of its
// client. If one is not set, the error says where it is needed and wraps
// ErrUnset.
func (s *Server) Expand(v Values) (*Server, error) {
	out := *s
	switch {
	case s.Err != nil:
		return nil, s.Err
	case len(s.Args) == 0 && s.URL == "" && s.Type == "":
		return nil, s.errorf("has neither a command nor a URL")
	case len(s.Args) == 0 && s.URL == "":
		return nil, s.errorf("has type %q, which only %s supports", s.Type, s.Client)
	}
	x := &expander{server: s, values: v, answers: map[string]string{}}
	out.Args = x.list("args", s.Args)
	out.Env = x.pairs("env", s.Env)
	out.Dir = x.text("dir", s.Dir)
	out.URL = x.text("url", s.URL)
	out.Headers = x.pairs("headers", s.Headers)
	for _, name := range s.EnvNames {
		// Values in the entry take precedence.
		if _, ok := out.Env[name]; !ok {
			setPair(&out.Env, name, x.env(name, "env"))
		}
	}
	for _, header := range slices.Sorted(maps.Keys(s.HeaderNames)) {
		setPair(&out.Headers, header, x.env(s.HeaderNames[header], "headers."+header))
	}
	if s.Bearer != "" {
		setPair(&out.Headers, "Authorization", "Bearer "+x.env(s.Bearer, "headers.Authorization"))
	}
	if x.err != nil {
		return nil, x.err
	}
	for _, header := range slices.Sorted(maps.Keys(out.Headers)) {
		if strings.ContainsAny(header+out.Headers[header], "\r\n\x00") {
			return nil, s.errorf("header %q contains a line break", header)
		}
	}
	// Clients start servers of a project file in the project directory.
	if len(out.Args) > 0 && s.project != "" && s.Scope != User {
		if !filepath.IsAbs(out.Dir) {
			out.Dir = filepath.Join(s.project, out.Dir)
		}
	}
	out.EnvNames, out.HeaderNames, out.Bearer = nil, nil, ""
	return &out, nil
}

func setPair(m *map[string]string, k, v string) {
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[k] = v
}

func (s *Server) errorf(format string, args ...any) error {
	return &Error{File: s.File, Key: s.Key, Err: fmt.Errorf(format, args...)}
}

// An expander expands the variables of one server. It keeps the first error.
type expander struct {
	server  *Server
	values  Values
	answers map[string]string
	err     error
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

// env returns the value of a variable that must be set.
func (x *expander) env(name, at string) string {
	if x.values.Getenv != nil {
		if v, ok := x.values.Getenv(name); ok {
			return v
		}
	}
	return x.fail(x.server.errorf("%s needs the variable %s, which is %w", at, name, ErrUnset))
}

// text expands one value by the client's rule:
//
//	none     no expansion
//	braces   ${V}, ${V:-default}
//	shell    the same, $V, and $(echo words), which needs no shell
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
			if words, rest, ok := cutEcho(s); ok {
				out.WriteString(x.text(at, words))
				s = rest
				continue
			}
			return x.fail(x.server.errorf("%s contains a command in $(…), which is not run: put its output into a variable", at))
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

// cutEcho returns the words of $(echo words) at the beginning of s, and what
// follows. It returns false for any other command.
func cutEcho(s string) (words, rest string, ok bool) {
	inside, rest, closed := strings.Cut(s[len("$("):], ")")
	f := strings.Fields(inside)
	if !closed || len(f) < 2 || f[0] != "echo" || f[1][0] == '-' || strings.ContainsAny(inside, "`;|&<>(\"'\\*?[~#!\r\n") {
		return "", "", false
	}
	return strings.Join(f[1:], " "), rest, true
}

// variable returns the value of what is in braces. It returns false for text
// that is not a variable of the client, which stays unchanged.
func (x *expander) variable(at, inside string) (v string, known bool) {
	switch x.server.rule {
	case "named":
		return x.named(at, inside)
	case "plain":
		if name, ok := strings.CutPrefix(inside, "env:"); ok {
			return x.env(name, at), true
		}
		if strings.HasPrefix(inside, "file:") {
			return x.fail(x.server.errorf("%s refers to the contents of a file, {%s}, which is not read: put them into a variable", at, inside)), true
		}
		return "", false
	}
	name, fallback, hasFallback := strings.Cut(inside, ":-")
	if nameLength(name) != len(name) || name == "" {
		return x.fail(x.server.errorf("%s has ${%s}, which is not a variable", at, inside)), true
	}
	if hasFallback {
		if x.values.Getenv != nil {
			if v, ok := x.values.Getenv(name); ok && v != "" {
				return v, true
			}
		}
		return fallback, true
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

// input asks the user, once per input.
func (x *expander) input(at, id string) string {
	if v, ok := x.answers[id]; ok {
		return v
	}
	in := Input{ID: id}
	if i := slices.IndexFunc(x.server.inputs, func(in Input) bool { return in.ID == id }); i >= 0 {
		in = x.server.inputs[i]
	}
	if x.values.Input == nil {
		return x.fail(x.server.errorf("%s needs ${input:%s}, which is %w", at, id, ErrUnset))
	}
	v, err := x.values.Input(in)
	if err != nil {
		if errors.Is(err, ErrUnset) {
			return x.fail(x.server.errorf("%s needs ${input:%s}, which is %w", at, id, err))
		}
		return x.fail(x.server.errorf("%s needs ${input:%s}: %w", at, id, err))
	}
	x.answers[id] = v
	return v
}

// nameLength returns the length of the variable name at the start of s.
func nameLength(s string) int {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(s)
}
