package git

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A FilterError says that a file could not be read, because a filter of the repository's own
// configuration applies to it that nobody has accepted.
type FilterError struct {
	// Filters are the settings, as Filters lists them.
	Filters []string
	err     error
}

func (e *FilterError) Error() string {
	return fmt.Sprintf("this clone's own configuration has commands that git would run to read its files, and nobody has accepted them: %s", quotedList(e.Filters))
}

func (e *FilterError) Unwrap() error { return e.err }

// quotedList lists the first of some texts of others.
func quotedList(texts []string) string {
	more := ""
	if len(texts) > maxHidden {
		texts, more = texts[:maxHidden], ", …"
	}
	quoted := make([]string, len(texts))
	for i, s := range texts {
		quoted[i] = fmt.Sprintf("%.200q", s)
	}
	return strings.Join(quoted, ", ") + more
}

// Filters lists the commands that git runs to store a file and that come from the repository's
// own configuration, or from that of its submodules, as filter.NAME.clean=COMMAND. Those of
// the user's and of the system's configuration are not among them.
func (r *Repo) Filters(ctx context.Context) ([]string, error) {
	own := map[string][]string{}
	if err := r.allFilters(ctx, own, 0); err != nil {
		return nil, err
	}
	var list []string
	for _, key := range slices.Sorted(maps.Keys(own)) {
		if runs(key) {
			for _, value := range own[key] {
				list = append(list, key+"="+value)
			}
		}
	}
	return slices.Compact(list), nil
}

// runs reports whether a setting of a filter is a command that is run to store a file.
func runs(key string) bool {
	return strings.HasSuffix(key, ".clean") || strings.HasSuffix(key, ".process")
}

// configured are the settings of filters by key: those of the repository, and those of
// everything else.
type configured struct {
	own    map[string][]string
	others map[string]string
}

// filters reads the settings of filters. It includes the extensions of git-lfs, which that
// runs as part of its own filter.
func (r *Repo) filters(ctx context.Context) (configured, error) {
	f := configured{map[string][]string{}, map[string]string{}}
	out, err := r.git(ctx, "config", "--show-scope", "--null", "--get-regexp", `^(filter|lfs\.extension)\.`)
	if e, ok := errors.AsType[*Error](err); ok && e.Exit == 1 {
		out, err = "", nil // there are none
	}
	if err != nil {
		return f, err
	}
	fields := strings.Split(out, "\x00")
	for i := 0; i+1 < len(fields); i += 2 { // scope, then key and value
		key, value, ok := strings.Cut(fields[i+1], "\n")
		if !ok {
			value = "true"
		}
		if fields[i] == "local" || fields[i] == "worktree" {
			f.own[key] = append(f.own[key], value)
		} else {
			f.others[key] = value
		}
	}
	return f, nil
}

// allFilters adds the settings of the repository's own filters, and of those of its submodules.
func (r *Repo) allFilters(ctx context.Context, own map[string][]string, depth int) error {
	f, err := r.filters(ctx)
	if err != nil {
		return err
	}
	for key, values := range f.own {
		own[key] = append(own[key], values...)
	}
	links, err := r.links(ctx, nil)
	if err != nil {
		return err
	}
	for _, l := range links {
		sub := r.inner(l.path)
		if sub == nil || sub.Common == r.Common || sub.Foreign != "" || depth == maxNesting {
			continue // a snapshot leaves it out or refuses it
		}
		if err := sub.allFilters(ctx, own, depth+1); err != nil {
			return fmt.Errorf("submodule %q: %w", l.path, err)
		}
	}
	return nil
}

// without returns settings that turn off the filters of the repository that are not accepted,
// and lists those. In place of such a filter the user's own of the same name applies; without
// one, git fails if it has to store a file that the filter applies to.
func (f configured) without(accept func(filter string) bool) (off settings, refused []string) {
	names := map[string]bool{}
	for key, values := range f.own {
		if !runs(key) {
			continue
		}
		for _, value := range values {
			if filter := key + "=" + value; accept == nil || !accept(filter) {
				refused = append(refused, filter)
				names[key[:strings.LastIndexByte(key, '.')]] = true
			}
		}
	}
	for name := range names {
		process := f.others[name+".process"]
		for _, part := range []string{".clean", ".process"} {
			if _, ok := f.own[name+part]; ok {
				off = append(off, setting{name + part, f.others[name+part]})
			}
		}
		required := f.others[name+".required"]
		if _, ok := f.own[name+".process"]; process == "" && (ok || f.others[name+".clean"] == "") {
			required = "true" // git runs nothing; an empty process takes the place of clean
		}
		off = append(off, setting{name + ".required", required})
	}
	slices.Sort(refused)
	return off, slices.Compact(refused)
}

// A setting is one of git's configuration, and settings are those of a call.
type (
	setting  struct{ key, value string }
	settings []setting
)

// env returns the settings as environment variables, which are above all files.
func (s settings) env() []string {
	if len(s) == 0 {
		return nil
	}
	env := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(s))}
	for n, s := range s {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, s.key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, s.value))
	}
	return env
}
