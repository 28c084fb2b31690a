package git

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A FilterError says that a file could not be read or checked out, because a filter applies to it
// that is of the repository's own configuration, or that this has settings for, and nobody has
// accepted that.
type FilterError struct {
	// Filters are the settings, as Filters lists them, or RemoteCommands if Remote is set.
	Filters []string
	// Remote is set if git would have run them to connect to a remote repository.
	Remote bool
	err    error
}

func (e *FilterError) Error() string {
	shown := slices.Clone(e.Filters)
	for n := range shown {
		shown[n] = password.ReplaceAllString(shown[n], "://…@")
	}
	if e.Remote {
		return fmt.Sprintf("this clone has commands of its own that git would run to connect to a remote repository or before a push, settings by which it would send or write something elsewhere, or a remote repository on this machine, whose hooks would run, and nobody has accepted them as they are now: %s; a person reads and accepts them with: bossman trust", quotedList(shown))
	}
	return fmt.Sprintf("this clone's own configuration has commands that git would run for its files, or settings with which a filter runs some or writes elsewhere, and nobody has accepted them: %s; a person reads and accepts them with: bossman trust", quotedList(shown))
}

// password finds the user and password in a URL.
var password = regexp.MustCompile(`://[^/@\s]*@`)

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
// own configuration, or from that of its submodules, as filter.NAME.clean=COMMAND; and those of the repository's own
// configuration that git runs to merge files, or to sign a commit. Those of
// the user's and of the system's configuration are not among them. If there is a filter at all,
// it also lists settings by which the repository can make one such as git-lfs run a program, or
// write elsewhere.
func (r *Repo) Filters(ctx context.Context) ([]string, error) {
	own := map[string][]string{}
	var list []string // begins with the settings that a filter may read
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
	f, err := r.filters(ctx)
	return append(slices.Compact(list), f.ownCommands()...), err
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
// everything else.
type configured struct {
	*frozen
	own    map[string][]string
	others map[string]string
	// reach are settings of the repository by which it can make a filter run a program, or write
	// elsewhere, as Filters lists them.
	reach []string
	// commands are those to merge files, to sign commits and to connect, by key: of the repository, and of
	// everything else.
	commands, otherCommands map[string][]string
	// signs is set if commits are to be signed.
	signs bool
	// hooksPath is the directory of hooks, empty if it is the one of the repository, and ownHooks is set if
	// the repository names it.
	hooksPath string
	ownHooks  bool
}

// filters reads the settings of filters, and of what else git runs.
func (r *Repo) filters(ctx context.Context) (configured, error) {
	f := configured{own: map[string][]string{}, others: map[string]string{}, commands: map[string][]string{}, otherCommands: map[string][]string{}}
	var err error
	if f.frozen, err = r.freeze(ctx); err != nil {
		return f, err
	}
	for _, l := range f.lines {
		key, value := l.key, l.value
		if l.own && reaches(key, value) {
			f.reach = append(f.reach, filterText(key, value))
		}
		switch {
		case key == "core.hookspath":
			f.hooksPath, f.ownHooks = value, l.own
		case key == "commit.gpgsign":
			f.signs = !isFalse(value) && value != ""
		case merges(key) || signer(key) || connects(key):
			if l.own {
				f.commands[key] = append(f.commands[key], value)
			} else {
				f.otherCommands[key] = append(f.otherCommands[key], value)
			}
		case !strings.HasPrefix(key, "filter."):
		case l.own:
			f.own[key] = append(f.own[key], value)
		default:
			f.others[key] = value
		}
	}
	if !f.runs("", stores) && !f.runs("", fills) {
		f.reach = nil // there is no filter that could read them
	}
	return f, nil
}

// runs reports whether there is a command of a filter, or of any one if name is empty, that runs
// for what is to be done.
func (f configured) runs(name string, runs func(key string) bool) bool {
	for key, values := range f.own {
		if runs(key) && (name == "" || filterName(key) == name) && slices.ContainsFunc(values, func(value string) bool { return value != "" }) {
			return true
		}
	}
	return f.theirs(name, runs)
}

// theirs is runs for filters that are not the repository's.
func (f configured) theirs(name string, runs func(key string) bool) bool {
	for key, value := range f.others {
		if value != "" && runs(key) && (name == "" || filterName(key) == name) {
			return true
		}
	}
	return false
}

// allFilters adds the settings of the repository's own filters, and of those of its submodules.
func (r *Repo) allFilters(ctx context.Context, own map[string][]string, reach *[]string, depth int) error {
	f, err := r.filters(ctx)
	if err != nil {
		return err
	}
	for key, values := range f.own {
		own[key] = append(own[key], values...)
	}
	*reach = append(*reach, f.reach...)
	links, err := r.links(ctx, nil)
	if err != nil {
		return err
	}
	for _, l := range links {
		sub := r.submodule(l.path)
		if sub == nil || depth == maxNesting {
			continue // a snapshot leaves it out or refuses it
		}
		if err := sub.allFilters(ctx, own, reach, depth+1); err != nil {
			return fmt.Errorf("submodule %q: %w", l.path, err)
		}
	}
	return nil
}

// accepted returns the settings with which git runs those filters of the repository that do what is
// to be done and are accepted, and lists the others. In place of another one the user's own of the same name
// applies; without one, git fails if it has to store a file that the filter applies to. If there are
// settings that a filter may read and nobody has accepted, all filters are turned off in that way.
func (f configured) accepted(accept func(filter string) bool, runs func(key string) bool) (set settings, refused []string) {
	not := func(key, value string) bool { return accept == nil || !accept(filterText(key, value)) }
	names := map[string]bool{} // of the others
	for key, values := range f.own {
		for _, value := range values {
			if runs(key) && not(key, value) {
				refused = append(refused, filterText(key, value))
				names[filterName(key)] = true
			}
		}
	}
	reach := slices.DeleteFunc(slices.Clone(f.reach), func(s string) bool { return accept != nil && accept(s) })
	if len(reach) > 0 {
		set, refused = f.allOff(runs), append(refused, reach...)
	} else {
		set = f.given(func(key, value string) bool {
			return strings.HasPrefix(key, "filter.") && !names[filterName(key)] && (runs(key) || strings.HasSuffix(key, ".required")) || len(f.reach) > 0 && reaches(key, value)
		})
		for name := range names {
			if f.theirs(name, runs) {
				continue
			}
			for _, part := range []string{".clean", ".smudge"} { // with neither, git does not ask for a filter
				if _, ok := f.others[name+part]; !ok {
					set = append(set, setting{name + part, ""})
				}
			}
			set = append(set, setting{name + ".required", "true"})
		}
	}
	slices.Sort(refused)
	return set, slices.Compact(refused)
}

// filterName is the part of a setting of a filter that its others have as well.
func filterName(key string) string { return key[:strings.LastIndexByte(key, '.')] }

// allOff returns settings that turn off every filter. git fails if one of them had to run for what
// is to be done.
func (f configured) allOff(runs func(key string) bool) (off settings) {
	names := map[string]bool{}
	for _, keys := range []iter.Seq[string]{maps.Keys(f.own), maps.Keys(f.others)} {
		for key := range keys {
			names[filterName(key)] = true
		}
	}
	for name := range names {
		off = append(off, setting{name + ".clean", ""}, setting{name + ".smudge", ""}, setting{name + ".process", ""},
			setting{name + ".required", strconv.FormatBool(f.runs(name, runs))})
	}
	return off
}

// refusal is err as a FilterError, if git failed because it did not run a filter.
func refusal(err error, refused []string) error {
	if e, ok := errors.AsType[*Error](err); ok && len(refused) > 0 && (strings.Contains(e.Output, "clean filter ") || strings.Contains(e.Output, "smudge filter ")) {
		return &FilterError{Filters: refused, err: err}
	}
	return err
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
