package clientconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A reader extracts servers from the tree of a file.
type reader struct {
	client  *Client
	file    File
	project string
}

func (r *reader) errorf(key, format string, args ...any) error {
	return &Error{File: r.file.Path, Key: key, Err: fmt.Errorf(format, args...)}
}

func joinKey(at, name string) string {
	if strings.ContainsAny(name, `. /\`) {
		name = fmt.Sprintf("%q", name)
	}
	if at == "" {
		return name
	}
	return at + "." + name
}

// walk follows names down the tree. It returns nil if one is missing.
func (r *reader) walk(m map[string]any, at string, names []string) (map[string]any, string, error) {
	for _, name := range names {
		next := m[name]
		at = joinKey(at, name)
		if next == nil {
			return nil, at, nil
		}
		var ok bool
		if m, ok = next.(map[string]any); !ok {
			return nil, at, r.errorf(at, "wrong type: want object, got %s", kindOf(next))
		}
	}
	return m, at, nil
}

func (r *reader) servers(root map[string]any, at string, scope Scope) ([]Server, error) {
	entries, at, err := r.walk(root, at, r.client.row.Key)
	if err != nil {
		return nil, err
	}
	if len(entries) > maxServers {
		return nil, r.errorf(at, "has more than %d servers", maxServers)
	}
	disabled, err := r.disabledNames(root)
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
		s.Disabled = s.Disabled || disabled[name]
		out = append(out, *s)
	}
	return out, nil
}

// disabledNames returns the servers that are disabled by a list of names.
func (r *reader) disabledNames(root map[string]any) (map[string]bool, error) {
	path := r.client.row.Off
	if len(path) == 0 {
		return nil, nil
	}
	last := len(path) - 1
	m, at, err := r.walk(root, "", path[:last])
	if err != nil {
		return nil, err
	}
	list, err := r.strings(m, at, path[last])
	names := map[string]bool{}
	for _, name := range list {
		names[name] = true
	}
	return names, err
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
		*into, err = r.strings(m, key, field)
		try(err)
	}
	pairs := func(into *map[string]string, field string) {
		var err error
		*into, err = r.pairs(m, key, field)
		try(err)
	}
	text(&s.Type, f.Type)
	transport := r.client.row.Types[s.Type]
	if s.Type != "" && transport == "" && len(r.client.row.Types) > 0 {
		return s, firstError(errs) // only its client supports the type
	}

	from, at := m, key // where the command is
	if nested, ok := m[f.Command].(map[string]any); ok && f.Nested != "" {
		from, at = nested, joinKey(key, f.Command)
		f.Command = f.Nested
	}
	command, err := r.text(from, at, f.Command)
	try(err)
	args, err := r.strings(from, at, f.Args)
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
	if err := firstError(errs); err != nil {
		return nil, err
	}
	switch {
	case transport == "stdio" && len(s.Args) == 0:
		return nil, r.errorf(key, "has type %s but no command", s.Type)
	case transport == "http" && s.URL == "":
		return nil, r.errorf(key, "has type %s but no URL", s.Type)
	case transport == "http":
		s.Args, s.Env, s.EnvNames, s.Dir = nil, nil, nil, ""
	case len(s.Args) > 0:
		s.URL, s.Headers, s.HeaderNames, s.Bearer = "", nil, nil, ""
	}
	return s, nil
}

func firstError(errs []error) error {
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
		return "", r.errorf(joinKey(at, name), "wrong type: want string, got %s", kindOf(m[name]))
	}
	return s, r.checkValue(joinKey(at, name), s)
}

// checkValue rejects a value that arguments and environment variables cannot
// contain.
func (r *reader) checkValue(at, s string) error {
	if strings.ContainsRune(s, 0) {
		return r.errorf(at, "contains a zero byte")
	}
	return nil
}

func (r *reader) flag(m map[string]any, at, name string, fallback bool) (bool, error) {
	if name == "" || m[name] == nil {
		return fallback, nil
	}
	b, ok := m[name].(bool)
	if !ok {
		return false, r.errorf(joinKey(at, name), "wrong type: want boolean, got %s", kindOf(m[name]))
	}
	return b, nil
}

func (r *reader) strings(m map[string]any, at, name string) ([]string, error) {
	if name == "" || m[name] == nil {
		return nil, nil
	}
	at = joinKey(at, name)
	list, ok := m[name].([]any)
	if !ok {
		return nil, r.errorf(at, "wrong type: want list of strings, got %s", kindOf(m[name]))
	}
	var out []string
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, r.errorf(fmt.Sprintf("%s[%d]", at, i), "wrong type: want string, got %s", kindOf(v))
		}
		if err := r.checkValue(fmt.Sprintf("%s[%d]", at, i), s); err != nil {
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
			return nil, r.errorf(joinKey(at, k), "is not a valid name")
		}
		if out[k], err = r.text(in, at, k); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// inputs returns the inputs of the file.
func (r *reader) inputs(root map[string]any) ([]Input, error) {
	name := r.client.row.Inputs
	if name == "" || root[name] == nil {
		return nil, nil
	}
	list, ok := root[name].([]any)
	if !ok {
		return nil, r.errorf(name, "wrong type: want list, got %s", kindOf(root[name]))
	}
	var out []Input
	for i, v := range list {
		at := fmt.Sprintf("%s[%d]", name, i)
		m, ok := v.(map[string]any)
		if !ok {
			return nil, r.errorf(at, "wrong type: want object, got %s", kindOf(v))
		}
		var in Input
		var errs [5]error
		in.ID, errs[0] = r.text(m, at, "id")
		in.Description, errs[1] = r.text(m, at, "description")
		in.Default, errs[2] = r.text(m, at, "default")
		in.Password, errs[3] = r.flag(m, at, "password", false)
		if kind, _ := m["type"].(string); kind == "pickString" {
			in.Options, errs[4] = r.options(m, at)
		}
		if err := firstError(errs[:]); err != nil {
			return nil, err
		}
		out = append(out, in)
	}
	return out, nil
}

// options returns the choices of an input: strings, or objects with a value.
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
	return r.strings(m, at, "options")
}
