package git

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
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

// Filters lists the commands that git runs to store a file, or to check one out, and that come from the repository's
// own configuration, or from that of its submodules, as filter.NAME.clean=COMMAND. Those of
// the user's and of the system's configuration are not among them.
func (r *Repo) Filters(ctx context.Context) ([]string, error) {
	own := map[string][]string{}
	var list []string // begins with the odd ones
	if err := r.allFilters(ctx, own, &list, 0); err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(own)) {
		if stores(key) || fills(key) {
			for _, value := range own[key] {
				list = append(list, filterText(key, value))
			}
		}
	}
	return slices.Compact(list), nil
}

// filterText is a setting as Filters lists it. No other setting has the same text.
func filterText(key, value string) string {
	if strings.Contains(key, "=") {
		key = strconv.Quote(key)
	}
	return key + "=" + value
}

// stores reports whether a setting of a filter is a command that is run to store a file, and
// fills whether it is one that is run to check a file out.
func stores(key string) bool {
	return strings.HasSuffix(key, ".clean") || strings.HasSuffix(key, ".process")
}

func fills(key string) bool {
	return strings.HasSuffix(key, ".smudge") || strings.HasSuffix(key, ".process")
}

// configured are the settings of filters by key: those of the repository, and those of
// everything else. hooks are the names of the hooks in any configuration.
type configured struct {
	own    map[string][]string
	others map[string]string
	hooks  map[string]bool
	// odd are settings of the repository that git-lfs may read as an extension of its own.
	odd []string
}

// odd reports whether git-lfs, which reads settings as lines and in any letter case, may take a
// setting for an extension of its own: one of git-lfs with an odd key, or any one whose value has
// such a line.
func odd(key, value string) bool {
	const extension = "lfs.extension."
	if _, more, _ := strings.Cut(value, "\n"); strings.Contains(strings.ToLower(more), extension) {
		return true
	}
	key = strings.ToLower(key)
	return strings.HasPrefix(key, extension) || strings.HasPrefix(key, "lfs.") && (strings.ContainsAny(key, "=\n") || strings.Contains(value, "\n"))
}

// filters reads the settings of filters and hooks. It includes the extensions of git-lfs, which
// that runs as part of its own filter.
func (r *Repo) filters(ctx context.Context) (configured, error) {
	f := configured{own: map[string][]string{}, others: map[string]string{}, hooks: map[string]bool{}}
	out, err := r.git(ctx, "config", "--show-scope", "--null", "--list")
	if err != nil {
		return f, err
	}
	fields := strings.Split(out, "\x00")
	for i := 0; i+1 < len(fields); i += 2 { // scope, then key and value
		key, value, ok := strings.Cut(fields[i+1], "\n")
		if !ok {
			value = "true"
		}
		if name, ok := strings.CutPrefix(key, "hook."); ok {
			if n := strings.LastIndexByte(name, '.'); n >= 0 {
				f.hooks[name[:n]] = true
			}
			continue
		}
		own := fields[i] == "local" || fields[i] == "worktree"
		extension := strings.HasPrefix(key, "lfs.extension.")
		if own && odd(key, value) && !(extension && stores(key)) {
			f.odd = append(f.odd, filterText(key, value))
		}
		switch {
		case !strings.HasPrefix(key, "filter.") && !extension: // it is no command
		case own:
			f.own[key] = append(f.own[key], value)
		default:
			f.others[key] = value
		}
	}
	return f, nil
}

// allFilters adds the settings of the repository's own filters, and of those of its submodules.
func (r *Repo) allFilters(ctx context.Context, own map[string][]string, odd *[]string, depth int) error {
	f, err := r.filters(ctx)
	if err != nil {
		return err
	}
	for key, values := range f.own {
		own[key] = append(own[key], values...)
	}
	*odd = append(*odd, f.odd...)
	links, err := r.links(ctx, nil)
	if err != nil {
		return err
	}
	for _, l := range links {
		sub := r.submodule(l.path)
		if sub == nil || depth == maxNesting {
			continue // a snapshot leaves it out or refuses it
		}
		if err := sub.allFilters(ctx, own, odd, depth+1); err != nil {
			return fmt.Errorf("submodule %q: %w", l.path, err)
		}
	}
	return nil
}

// unaccepted returns an error if git-lfs may read settings of the repository as commands that
// nobody has accepted.
func (f configured) unaccepted(accept func(filter string) bool) error {
	odd := slices.DeleteFunc(slices.Clone(f.odd), func(s string) bool { return accept != nil && accept(s) })
	if len(odd) == 0 {
		return nil
	}
	return &FilterError{Filters: odd, err: errors.New("git: settings of git-lfs that may be commands")}
}

// hooksOff returns settings that turn off all hooks that newer versions of git have in the
// configuration. Those that are files are off in every call.
func (f configured) hooksOff() (off settings) {
	for hook := range f.hooks {
		off = append(off, setting{"hook." + hook + ".enabled", "false"})
	}
	return off
}

// without returns settings that turn off all hooks, and those filters of the repository that run
// for what is to be done and are not accepted, and lists these. In place of such a filter the user's own of the same name
// applies; without one, git fails if it has to store a file that the filter applies to.
func (f configured) without(accept func(filter string) bool, runs func(key string) bool) (off settings, refused []string) {
	off = f.hooksOff()
	names := map[string]bool{}
	for key, values := range f.own {
		if !runs(key) {
			continue
		}
		for _, value := range values {
			if filter := filterText(key, value); accept == nil || !accept(filter) {
				refused = append(refused, filter)
				names[key[:strings.LastIndexByte(key, '.')]] = true
			}
		}
	}
	for name := range names {
		process := f.others[name+".process"]
		for _, part := range []string{".clean", ".smudge", ".process"} {
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
